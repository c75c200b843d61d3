// Checks that trained states are finite before they are exported or saved.
#pragma once
#include "runtime/comm/AgreedError.h"
#include "runtime/exec/Executor.h"
#include "runtime/train/Schedule.h"
#include <array>

namespace kedge::rt {

/// What helps where --eps 0 made the values that are not finite; empty if it cannot have.
std::string epsilonHelp(const RunScalars &scalars, const Program &program);

/// Throws, on all ranks, if a state that steps write contains a non-finite
/// value after step `step`. `consequence` goes into the message.
void checkStatesFinite(const Executor &executor, int64_t step, const std::string &consequence);

/// Where launches write. What none writes is as the user gave it: masks may be infinite.
class WrittenPlaces {
public:
  explicit WrittenPlaces(const Program &program);
  bool hold(const State &state) const;

private:
  std::array<std::vector<uint64_t>, 2> places; ///< by space, in order
};

/// Looks at the values that a run begins with while they are on the host, before the device has them.
class LoadedValues {
public:
  explicit LoadedValues(const Program &program) : program(program), written(program) {}
  /// `values`: those of `state`, in the form of `as`.
  void see(const State &state, const State &as, const char *values);
  /// Throws, on all ranks, if one that steps write was not finite.
  void check(Communicator *ranks) const;

private:
  const Program &program;
  WrittenPlaces written;
  std::optional<Word> fault; ///< the first
};

} // namespace kedge::rt
