#include "runtime/train/checkpoint/WholeStates.h"
#include "runtime/io/Error.h"
#include "runtime/train/weights/Residuals.h"

namespace kedge::rt {
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
    if (holder == 0 || !shard.isGivenBy(mesh, holder))
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
  const bool isWide = hasOriginal(state) || residualOf(executor.program(), state);
  return {isWide ? DType::F32 : state.desc.type, state.viewOrWhole().whole};
}

const char *WholeStates::fetch(const State &state) {
  if (hasOriginal(state))
    return executor.originals()->fetch(state);
  const State *residual = residualOf(executor.program(), state);
  if (!residual)
    return fetchStored(state);
  const size_t elements = static_cast<size_t>(descOf(state).elements());
  const char *stored = fetchStored(state);
  const std::vector<char> value(stored, stored + elements * dtypeSize(state.desc.type));
  joined.resize(elements);
  joinParts(value.data(), fetchStored(*residual), joined);
  return reinterpret_cast<const char *>(joined.data());
}

/// As memory has it.
const char *WholeStates::fetchStored(const State &state) {
  if (!state.shard) {
    state.expectWhole("written");
    return executor.read(state);
  }
  std::string name = state.name; // stages of a pipeline number their states otherwise
  agreeOn(name);
  gather(state);
  return whole.data();
}

/// Rank 0's text, on every rank.
void WholeStates::agreeOn(std::string &name) {
  int64_t length = static_cast<int64_t>(name.size());
  executor.communicator()->broadcast(&length, sizeof(length));
  name.resize(static_cast<size_t>(length));
  if (length > 0)
    executor.communicator()->broadcast(name.data(), name.size());
}

void WholeStates::finish(const std::string &error) {
  std::string noMore, why = error;
  if (executor.communicator()) {
    agreeOn(noMore);
    agreeOn(why);
  }
  whole = {};
  joined = {};
}

void WholeStates::serve() {
  for (;;) {
    std::string name;
    agreeOn(name);
    if (name.empty()) {
      std::string error;
      agreeOn(error);
      if (!error.empty())
        throw AgreedError(error);
      return;
    }
    const State *state = executor.program().state(name);
    if (!state)
      fail("the program is damaged: its ranks have other states than rank 0: '{}' is missing", name);
    gather(*state);
  }
}

} // namespace kedge::rt
