// States as files have them, one at a time: whole on rank 0, where ranks hold parts; with all digits, where memory holds
// them rounded.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"

namespace kedge::rt {

class WholeStates {
public:
  explicit WholeStates(const Executor &executor);

  /// On rank 0: the whole tensor, of descOf(state), valid until the next call.
  const char *fetch(const State &state);
  TensorDesc descOf(const State &state) const;
  /// Rank 0 has all that it wants.
  void finish();
  /// On the others: gives parts to rank 0 until it has finished.
  void serve();

private:
  bool hasOriginal(const State &state) const { return executor.originals() && executor.originals()->has(state); }
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
