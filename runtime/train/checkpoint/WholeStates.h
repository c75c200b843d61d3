// Reads states in the form that files have, one at a time. Rank 0 gets the whole tensor
// even if ranks hold parts, and exact values even if they are rounded in memory.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"

namespace kedge::rt {

class WholeStates {
public:
  explicit WholeStates(const Executor &executor);

  /// On rank 0: the whole tensor, of type descOf(state); valid until the next call.
  const char *fetch(const State &state);
  TensorDesc descOf(const State &state) const;
  /// Rank 0 calls this when it needs no more states; `error`: what it could not do, or nothing.
  void finish(const std::string &error);
  /// On all other ranks: sends parts to rank 0 until it has finished. Throws AgreedError where rank 0 failed.
  void serve();

private:
  bool hasOriginal(const State &state) const {
    return executor.originals() && executor.originals()->has(state);
  }
  const char *fetchStored(const State &state);
  void gather(const State &state);
  void agreeOn(std::string &name);

  const Executor &executor;
  std::vector<char> whole;
  std::vector<float> joined; ///< of a parameter and its residual
};

/// Sets `whole` on rank 0 to the tensor that ranks hold parts of; `own` is this rank's. All ranks call it.
void gatherOnFirst(Communicator &ranks, const Shard &shard, DType type, const char *own,
                   std::vector<char> &whole);

/// Rank 0 runs `body(WholeStates &)`; the others serve it. Where it fails, all ranks throw the same
/// AgreedError.
template <typename Body> void onFirstRank(const Executor &executor, Body &&body) {
  WholeStates states(executor);
  if (const Communicator *ranks = executor.communicator(); ranks && !ranks->world().isFirst())
    return states.serve();
  try {
    body(states);
  } catch (const RuntimeError &error) {
    if (!executor.communicator() || dynamic_cast<const AgreedError *>(&error))
      throw;
    states.finish(error.what());
    throw AgreedError(error.what());
  }
  states.finish("");
}

} // namespace kedge::rt
