// --profile: a Chrome trace of launches, and a table of where time went.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Keeps the launches of the first steps (all room is taken at the start) and totals of all.
class Profile : public LaunchTimer {
public:
  /// `prints`: the table.
  Profile(const Program &program, int64_t steps, bool prints);
  void record(const Function &function, int launch, int64_t begin, int64_t end) override;
  /// Writes the trace, a row a stream and one of steps, whole steps only, and prints the table to stderr. Collectives that run beside the rest have shares
  /// of their own: they are no part of the sum.
  void finish(const std::string &path) const;

private:
  struct Event {
    const Function *function;
    int launch;
    int64_t begin, end;
  };
  struct Span {
    int64_t begin, end;
  };
  /// The first steps, and how many events come before the first one that is cut off.
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
