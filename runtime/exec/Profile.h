// --profile: a Chrome trace of launches, and a table of times.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

class Communicator;

/// Keeps the launches of the first steps (memory is allocated at the start) and totals of all steps.
class Profile : public LaunchTimer {
public:
  /// `prints`: whether to print the table.
  Profile(const Program &program, int64_t steps, bool prints);
  void record(const Function &function, int launch, int64_t begin, int64_t end) override;
  /// Writes the trace, with one row for each stream and one for steps, and only whole steps; prints
  /// the table to stderr. Collectives that run beside other work are listed apart from the sum. With `ranks`
  /// (null: one rank) all call it, and rank 0 writes one trace of all, with a process for each.
  void finish(const std::string &path, Communicator *ranks) const;

private:
  struct Event {
    const Function *function;
    int launch;
    int64_t begin, end;
  };
  struct Span {
    int64_t begin, end;
  };
  /// Its events, as elements of the trace's list. Times are from `origin` on, of this rank's clock.
  std::string traceText(int64_t rank, int64_t origin, bool isOneOfSeveral) const;
  /// The share of its steps in which a rank waits in transfers between two ranks.
  double waitingShare() const;
  /// The first steps, and the number of events before the first event that is cut off.
  std::vector<Span> wholeSteps(size_t &kept) const;
  struct Total {
    int64_t nanoseconds = 0, calls = 0;
  };
  void printTable() const;

  const Program &program;
  bool prints;
  std::vector<Event> events;
  std::map<const Function *, std::vector<Total>> totals;
};

} // namespace kedge::rt
