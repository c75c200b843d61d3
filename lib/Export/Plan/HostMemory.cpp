#include "lib/Export/Plan/HostMemory.h"
#include "lib/Dialect/Sched/SchedDialect.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/StorageBytes.h"
#include <algorithm>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;

namespace {
/// Bytes that one run of the function copies to host memory, and back.
std::pair<int64_t, int64_t> copiedBytes(exec::FunctionOp function) {
  int64_t out = 0, in = 0;
  for (auto copy : function.getBody().getOps<exec::CopyOp>())
    (copy.fetches() ? in : out) += static_cast<int64_t>(copy.from().getSize());
  return {out, in};
}
} // namespace

llvm::DenseMap<Operation *, train::StateOp> kedge::exporter::statesInTransit(exec::FunctionOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  llvm::DenseMap<Operation *, train::StateOp> states;
  for (auto copy : function.getBody().getOps<exec::CopyOp>()) {
    exec::BufferOp there = copy.fetches() ? copy.from() : copy.to(),
                   here = copy.fetches() ? copy.to() : copy.from();
    if (there.getStateAttr())
      states[here] = module.lookupSymbol<train::StateOp>(there.getStateAttr().getAttr());
  }
  return states;
}

void kedge::exporter::addHostFacts(json &report, ModuleOp module) {
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

std::vector<std::pair<std::string, int64_t>> kedge::exporter::largestOnHost(ModuleOp module, size_t count) {
  std::vector<std::pair<std::string, int64_t>> states;
  for (auto state : module.getOps<train::StateOp>())
    if (sched::isOnHost(state))
      states.push_back({state.getSymName().str(), bytesOf(state.getType())});
  std::stable_sort(states.begin(), states.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  states.resize(std::min(states.size(), count));
  return states;
}
