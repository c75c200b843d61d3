#include "HostMemory.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Export/Plan/PlanReport.h"
#include <algorithm>

using namespace mlir;
using namespace kedge;
using nlohmann::json;

namespace {
using exec::bufferOf;

/// Source and destination of a copy; null for other launches.
std::pair<exec::BufferOp, exec::BufferOp> endsOf(exec::LaunchOp launch) {
  if (!launch.getLibrary() || launch.getKernel() != "copy")
    return {};
  return {bufferOf(launch.getReads().front()), bufferOf(launch.getWrites().front())};
}

int64_t bytesOf(train::StateOp state) {
  auto tensor = cast<RankedTensorType>(state.getType());
  return tensor.getNumElements() * std::max<int64_t>(8, tensor.getElementTypeBitWidth()) / 8;
}

/// Bytes that one run of the function copies to host memory, and back.
std::pair<int64_t, int64_t> copiedBytes(exec::FunctionOp function) {
  int64_t out = 0, in = 0;
  for (auto launch : function.getBody().getOps<exec::LaunchOp>())
    if (auto [from, to] = endsOf(launch); from)
      (to.getHost() ? out : in) += static_cast<int64_t>(from.getSize());
  return {out, in};
}
} // namespace

llvm::DenseMap<Operation *, train::StateOp> kedge::statesInTransit(exec::FunctionOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  llvm::DenseMap<Operation *, train::StateOp> states;
  for (auto launch : function.getBody().getOps<exec::LaunchOp>()) {
    auto [from, to] = endsOf(launch);
    if (!from)
      continue;
    exec::BufferOp there = from.getHost() ? from : to, here = from.getHost() ? to : from;
    if (there.getStateAttr())
      states[here] = module.lookupSymbol<train::StateOp>(there.getStateAttr().getAttr());
  }
  return states;
}

void kedge::addHostFacts(json &report, ModuleOp module) {
  report["host_bytes"] = 0;
  for (auto arena : module.getOps<exec::HostArenaOp>()) {
    int64_t bytes = arena.getBytes(), states = arena.getPersistent();
    report["host_bytes"] = bytes;
    report["offload"] = {{"state_bytes", states}, {"value_bytes", bytes - states}};
    for (json &entry : report["functions"])
      for (auto function : module.getOps<exec::FunctionOp>())
        if (function.getSymName() == entry["name"].get<std::string>()) {
          auto [out, in] = copiedBytes(function);
          entry["to_host_bytes"] = out;
          entry["to_device_bytes"] = in;
        }
  }
}

std::vector<std::pair<std::string, int64_t>> kedge::largestOnHost(ModuleOp module, size_t count) {
  std::vector<std::pair<std::string, int64_t>> states;
  for (auto state : module.getOps<train::StateOp>())
    if (state->hasAttr("sched.host"))
      states.push_back({state.getSymName().str(), bytesOf(state)});
  std::stable_sort(states.begin(), states.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  states.resize(std::min(states.size(), count));
  return states;
}
