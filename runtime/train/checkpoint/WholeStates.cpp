#include "runtime/train/checkpoint/WholeStates.h"
#include <cstring>

namespace kedge::rt {
namespace {

constexpr int64_t kNoMore = -1;

} // namespace

WholeStates::WholeStates(const Executor &executor) : executor(executor) {}

void WholeStates::gather(const State &state) {
  Communicator &ranks = *executor.communicator();
  const World world = ranks.world();
  const RankGroup holders = firstParts(ranks);
  const int64_t elements = TensorDesc{state.desc.type, *state.shard}.elements();
  const size_t size = dtypeSize(state.desc.type);
  if (world.isFirst()) {
    whole.resize(static_cast<size_t>(elements) * size);
    std::memcpy(whole.data(), executor.read(state),
                static_cast<size_t>(localShardOf(elements, 0, holders.own.size).count) * size);
  }
  for (int64_t holder = 1; holder < holders.own.size; ++holder) {
    const ElementRange part = localShardOf(elements, holder, holders.own.size);
    char *to = world.isFirst() ? whole.data() + static_cast<size_t>(part.first) * size : nullptr;
    ranks.sendToFirst(holders.members[static_cast<size_t>(holder)], executor.read(state), to,
                      static_cast<size_t>(part.count) * size);
  }
}

TensorDesc WholeStates::descOf(const State &state) const {
  return {hasOriginal(state) ? DType::F32 : state.desc.type, state.viewOrWhole().whole};
}

const char *WholeStates::fetch(const State &state) {
  if (hasOriginal(state))
    return executor.originals()->fetch(state);
  if (!state.shard) {
    state.expectWhole("written");
    return executor.read(state);
  }
  int64_t index = &state - executor.program().states.data();
  executor.communicator()->broadcast(&index, sizeof(index));
  gather(state);
  return whole.data();
}

void WholeStates::finish() {
  int64_t index = kNoMore;
  if (executor.communicator())
    executor.communicator()->broadcast(&index, sizeof(index));
  whole = {};
}

void WholeStates::serve() {
  for (;;) {
    int64_t index = kNoMore;
    executor.communicator()->broadcast(&index, sizeof(index));
    if (index == kNoMore)
      return;
    gather(executor.program().states[static_cast<size_t>(index)]);
  }
}

} // namespace kedge::rt
