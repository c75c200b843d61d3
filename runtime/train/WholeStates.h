// States that ranks hold in parts, as a whole on rank 0, one at a time.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"

namespace kedge::rt {

class WholeStates {
public:
  explicit WholeStates(const Executor &executor);

  /// On rank 0: the whole tensor, valid until the next call.
  const char *fetch(const State &state);
  /// Rank 0 has all that it wants.
  void finish();
  /// On the others: gives parts to rank 0 until it has finished.
  void serve();

private:
  void gather(const State &state);

  const Executor &executor;
  std::vector<char> whole;
};

/// Rank 0 runs `body(WholeStates &)`, the others serve it.
template <typename Body> void onFirstRank(const Executor &executor, Body &&body) {
  WholeStates states(executor);
  if (const Communicator *ranks = executor.communicator(); ranks && !ranks->world().isFirst())
    return states.serve();
  body(states);
  states.finish();
}

} // namespace kedge::rt
