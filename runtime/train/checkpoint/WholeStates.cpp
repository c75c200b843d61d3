#include "runtime/train/checkpoint/WholeStates.h"

namespace kedge::rt {
namespace {

constexpr int64_t kNoMore = -1;

} // namespace

WholeStates::WholeStates(const Executor &executor) : executor(executor) {}

void gatherOnFirst(Communicator &ranks, const Shard &shard, DType type, const char *own,
                   std::vector<char> &whole) {
  const Mesh mesh = ranks.mesh();
  const bool isFirst = ranks.world().isFirst();
  const size_t size = dtypeSize(type), room = TensorDesc{type, shard.localShape(mesh)}.bytes();
  std::vector<char> box; // of another rank, where it lies in pieces
  if (isFirst) {
    whole.resize(TensorDesc{type, shard.shape}.bytes());
    scatter(shard.viewOf(mesh, 0), own, whole.data(), size);
  }
  for (const int64_t holder : mesh.groupOf(shard.axes(), 0).members) {
    if (holder == 0)
      continue;
    const StateView view = shard.viewOf(mesh, holder);
    if (const ElementRun run = view.onlyRun(); run.count >= 0) {
      ranks.sendToFirst(holder, own + static_cast<size_t>(run.here) * size,
                        isFirst ? whole.data() + static_cast<size_t>(run.whole) * size : nullptr,
                        static_cast<size_t>(run.count) * size);
      continue;
    }
    box.resize(isFirst ? room : 0);
    ranks.sendToFirst(holder, own, box.data(), room);
    if (isFirst)
      scatter(view, box.data(), whole.data(), size);
  }
}

void WholeStates::gather(const State &state) {
  gatherOnFirst(*executor.communicator(), *state.shard, state.desc.type, executor.read(state), whole);
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
