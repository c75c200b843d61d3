// --profile: a Chrome trace of launches, and a table of where time went.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Keeps the launches of the first steps (all room is taken at the start) and totals of all.
class Profile : public LaunchTimer {
public:
  explicit Profile(const Program &program, int64_t steps);
  void record(const Function &function, int launch, int64_t begin, int64_t end) override;
  /// Writes the trace and prints the table to stderr.
  void finish(const std::string &path) const;

private:
  struct Event {
    const Function *function;
    int launch;
    int64_t begin, end;
  };
  struct Total {
    int64_t nanoseconds = 0, calls = 0;
  };
  const Program &program;
  std::vector<Event> events;
  std::map<const Function *, std::vector<Total>> totals;
};

} // namespace kedge::rt
