#include "lib/Export/Plan/HostMemory.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/PersistentRegion.h"
#include "lib/Export/Plan/PlanReport.h"
#include <algorithm>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;

namespace {
/// Bytes that one run of the function copies to host memory or to files, and back.
std::pair<int64_t, int64_t> copiedBytes(exec::FunctionOp function, bool onDisk) {
  const SymbolTable symbols(function->getParentOfType<ModuleOp>());
  int64_t out = 0, in = 0;
  for (auto copy : function.getBody().getOps<exec::CopyOp>()) {
    FlatSymbolRefAttr state = (copy.fetches() ? copy.from() : copy.to()).getStateAttr();
    const bool isInFile = state && sched::diskOf(symbols.lookup(state.getValue()));
    if (isInFile == onDisk)
      (copy.fetches() ? in : out) += static_cast<int64_t>(copy.from().getSize());
  }
  return {out, in};
}

void addCopies(json &entry, exec::FunctionOp function, bool onDisk) {
  auto [out, in] = copiedBytes(function, onDisk);
  entry[onDisk ? "to_disk_bytes" : "to_host_bytes"] = out;
  entry[onDisk ? "from_disk_bytes" : "to_device_bytes"] = in;
}

/// Bytes of host memory, those that copies to files go through included, where they are not the device's.
int64_t hostBytesOf(exec::HostArenaOp arena) {
  auto module = arena->getParentOfType<ModuleOp>();
  const int64_t memory = static_cast<int64_t>(arena.getBytes()) - arena.getDiskBytes();
  return memory + (targetOf(module) == TargetKind::Cuda ? analysis::diskStagingBytes(module) : 0);
}
} // namespace

llvm::DenseMap<Operation *, train::StateOp> kedge::exporter::statesInTransit(exec::FunctionOp function) {
  llvm::DenseMap<Operation *, train::StateOp> states;
  const auto copies = function.getBody().getOps<exec::CopyOp>();
  if (copies.empty())
    return states;
  const SymbolTable symbols(function->getParentOfType<ModuleOp>());
  for (auto copy : function.getBody().getOps<exec::CopyOp>()) {
    exec::BufferOp there = copy.fetches() ? copy.from() : copy.to(),
                   here = copy.fetches() ? copy.to() : copy.from();
    if (there.getStateAttr())
      states[here] = symbols.lookup<train::StateOp>(there.getStateAttr().getValue());
  }
  return states;
}

int64_t kedge::exporter::hostBytes(ModuleOp module) {
  for (auto arena : module.getOps<exec::HostArenaOp>())
    return hostBytesOf(arena);
  return 0;
}

void kedge::exporter::addHostFacts(json &report, ModuleOp module) {
  report["host_bytes"] = 0;
  for (auto arena : module.getOps<exec::HostArenaOp>()) {
    int64_t bytes = arena.getBytes(), states = arena.getPersistent(), disk = arena.getDiskBytes();
    report["host_bytes"] = hostBytesOf(arena);
    report["offload"] = {{"state_bytes", states - disk}, {"value_bytes", bytes - states}};
    if (disk != 0)
      report["disk_bytes"] = disk;
    for (exec::FileAttr file : arena.getListed())
      report["offload"]["files"].push_back({{"directory", file.getDirectory()}, {"bytes", file.getBytes()}});
    for (json &entry : report["functions"])
      for (auto function : module.getOps<exec::FunctionOp>())
        if (function.getSymName() == entry["name"].get<std::string>()) {
          addCopies(entry, function, /*onDisk=*/false);
          if (disk != 0)
            addCopies(entry, function, /*onDisk=*/true);
        }
  }
}

std::vector<std::pair<std::string, int64_t>> kedge::exporter::largestOnHost(ModuleOp module, size_t count) {
  std::vector<std::pair<std::string, int64_t>> states;
  for (auto state : module.getOps<train::StateOp>())
    if (sched::isOnHost(state) && !sched::diskOf(state))
      states.push_back({state.getSymName().str(), bytesOf(state.getType())});
  std::stable_sort(states.begin(), states.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  states.resize(std::min(states.size(), count));
  return states;
}
