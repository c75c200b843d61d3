#include "passes/Memory/CheckKept.h"
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/PersistentRegion.h"
#include "llvm/ADT/MapVector.h"
#include <unordered_map>

namespace kedge::memory {
namespace {
using namespace mlir;

/// A state, a scalar or a result, wherever it is first found.
struct Kept {
  Operation *op = nullptr;
  bool onHost = false;
  int64_t begin = 0, size = 0;
};

class KeptBytes {
public:
  explicit KeptBytes(ModuleOp module) : module(module), onHost(analysis::hostStates(module)) {
    for (auto arena : module.getOps<exec::ArenaOp>())
      persistent[0] = static_cast<int64_t>(arena.getPersistent());
    for (auto arena : module.getOps<exec::HostArenaOp>())
      persistent[1] = static_cast<int64_t>(arena.getPersistent());
  }

  LogicalResult check() {
    for (auto state : module.getOps<train::StateOp>())
      if (auto offset = exec::OffsetNote(state.getContext()).getAttr(state))
        kept["state '" + state.getSymName().str() + "'"] = {state, onHost.contains(state.getSymNameAttr()),
                                                            offset.getInt(), bytesOf(state.getType())};
    for (auto function : module.getOps<exec::FunctionOp>())
      for (auto buffer : function.getBody().getOps<exec::BufferOp>())
        if (failed(buffer.isPersistent() ? keep(function, buffer) : checkTransient(buffer)))
          return failure();
    return success(succeeded(checkEach()) && succeeded(checkApart()));
  }

private:
  static std::string nameOf(exec::FunctionOp function, exec::BufferOp buffer) {
    if (FlatSymbolRefAttr state = buffer.getStateAttr())
      return "state '" + state.getValue().str() + "'";
    const bool isScalar =
        llvm::any_of(buffer.bound(), [](train::BindingAttr b) { return b.is(train::BindingKind::Scalar); });
    return isScalar ? "scalar '" + buffer.getName().str() + "'"
                    : "result '" + buffer.getName().str() + "' of @" + function.getSymName().str();
  }

  LogicalResult keep(exec::FunctionOp function, exec::BufferOp buffer) {
    std::string name = nameOf(function, buffer);
    const int64_t begin = buffer.getOffset(), size = buffer.getSize();
    auto [entry, isNew] = kept.insert({name, Kept{buffer, buffer.getHost(), begin, size}});
    Kept &known = entry->second;
    if (isNew || (known.begin == begin && known.onHost == buffer.getHost())) {
      known.size = std::max(known.size, size);
      return success();
    }
    InFlightDiagnostic error = buffer.emitOpError("is at ")
                               << begin << ", but the " << name << " is at " << known.begin;
    error.attachNote(known.op->getLoc()) << "here";
    return error;
  }

  LogicalResult checkTransient(exec::BufferOp buffer) {
    const int64_t behind = persistent[buffer.getHost()];
    if (buffer.getSize() == 0 || static_cast<int64_t>(buffer.getOffset()) >= behind)
      return success();
    return buffer.emitOpError("is at ")
           << buffer.getOffset() << ", within the " << behind << " bytes that functions keep for each other";
  }

  LogicalResult checkEach() {
    for (auto &[name, one] : kept)
      if (one.size > 0 && one.begin + one.size > persistent[one.onHost])
        return one.op->emitOpError("holds the ")
               << name << " at [" << one.begin << ", " << one.begin + one.size << "), beyond the "
               << persistent[one.onHost] << " bytes that functions keep for each other";
    return success();
  }

  LogicalResult checkApart() {
    SmallVector<std::pair<StringRef, const Kept *>> order;
    for (auto &[name, one] : kept)
      if (one.size > 0)
        order.push_back({name, &one});
    llvm::stable_sort(order, [](auto &a, auto &b) {
      return std::make_pair(a.second->onHost, a.second->begin) <
             std::make_pair(b.second->onHost, b.second->begin);
    });
    for (size_t i = 1; i < order.size(); ++i) {
      const Kept &before = *order[i - 1].second, &after = *order[i].second;
      if (before.onHost == after.onHost && after.begin < before.begin + before.size)
        return after.op->emitOpError("holds the ")
               << order[i].first << " at " << after.begin << ", on bytes of the " << order[i - 1].first
               << " at [" << before.begin << ", " << before.begin + before.size << ")";
    }
    return success();
  }

  ModuleOp module;
  llvm::DenseSet<StringAttr> onHost;
  int64_t persistent[2] = {0, 0};
  llvm::MapVector<std::string, Kept, std::unordered_map<std::string, unsigned>> kept;
};

/// Kernels of CPUs lie in a module within the module.
Operation *kernelOf(ModuleOp module, StringRef name) {
  for (auto inner : module.getOps<ModuleOp>())
    if (Operation *kernel = SymbolTable::lookupSymbolIn(inner, name))
      return kernel;
  return nullptr;
}
} // namespace

LogicalResult checkKept(ModuleOp module) { return KeptBytes(module).check(); }

LogicalResult checkIterations(ModuleOp module) {
  llvm::StringMap<Operation *> kernels;
  const StringRef note = sched::IterationsNote::getNameStr();
  const WalkResult walked = module.walk([&](exec::LaunchOp launch) {
    if (launch.getLibrary())
      return WalkResult::advance();
    auto [entry, isNew] = kernels.try_emplace(launch.getKernel(), nullptr);
    if (isNew)
      entry->second = kernelOf(module, launch.getKernel());
    if (!entry->second)
      return WalkResult::advance();
    auto iterations = entry->second->getAttrOfType<IntegerAttr>(note);
    if (iterations && iterations.getInt() == static_cast<int64_t>(launch.getIterations()))
      return WalkResult::advance();
    if (!iterations)
      entry->second->emitOpError("is launched and does not say its iterations: expected '") << note << "'";
    else
      launch.emitOpError("runs ") << launch.getIterations() << " iterations of '" << launch.getKernel()
                                  << "', which has " << iterations.getInt();
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace kedge::memory
