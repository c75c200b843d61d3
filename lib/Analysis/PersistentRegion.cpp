#include "lib/Analysis/PersistentRegion.h"
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/LibraryCall.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/exec/DiskCopies.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using kedge::train::BindingAttr;
using kedge::train::BindingKind;

namespace kedge::analysis {

PersistentRegion::PersistentRegion(ModuleOp module)
    : onHost(hostStates(module)), alignment(arenaAlignment(module)) {
  const auto placeState = [&](train::StateOp state) {
    place(BindingAttr::get(module.getContext(), BindingKind::State, state.getSymName()), {}, state.getType());
  };
  llvm::MapVector<StringAttr, SmallVector<train::StateOp>> inFiles;
  for (auto state : module.getOps<train::StateOp>())
    if (StringAttr directory = sched::diskOf(state))
      inFiles[directory].push_back(state);
  alignment = exec::diskBlock;
  for (auto &[directory, states] : inFiles) {
    const int64_t before = host.bytes;
    llvm::for_each(states, placeState);
    onDisk.push_back({directory, host.bytes - before});
  }
  alignment = arenaAlignment(module);
  for (auto state : module.getOps<train::StateOp>())
    placeState(state);
}

int64_t PersistentRegion::diskBytes() const {
  int64_t bytes = 0;
  for (const File &file : onDisk)
    bytes += file.bytes;
  return bytes;
}

int64_t PersistentRegion::place(BindingAttr what, StringAttr function, Type type) {
  Arena &arena = isOnHost(what) ? host : device;
  StringAttr owner = what.is(BindingKind::Result) ? function : StringAttr();
  auto [entry, isNew] = arena.offsets.try_emplace(std::pair<Attribute, Attribute>(what, owner), arena.bytes);
  if (isNew)
    arena.bytes += llvm::alignTo(kedge::bytesOf(type), alignment);
  return entry->second;
}

bool PersistentRegion::isOnHost(BindingAttr what) const {
  return what.is(BindingKind::State) && onHost.contains(what.getSymbol().getAttr());
}

llvm::DenseSet<StringAttr> hostStates(ModuleOp module) {
  llvm::DenseSet<StringAttr> names;
  for (auto state : module.getOps<train::StateOp>())
    if (sched::isOnHost(state))
      names.insert(state.getSymNameAttr());
  return names;
}

int64_t diskStagingBytes(ModuleOp module) {
  int64_t largest = 0;
  for (auto state : module.getOps<train::StateOp>())
    if (sched::diskOf(state))
      largest = std::max(largest, kedge::bytesOf(state.getType()));
  return static_cast<int64_t>(rt::diskStagingBytes(static_cast<uint64_t>(largest)));
}

int64_t hostStateBytes(ModuleOp module) {
  const PersistentRegion region(module);
  return region.hostBytes() - region.diskBytes() +
         (targetOf(module) == TargetKind::Cuda ? diskStagingBytes(module) : 0);
}

int64_t persistentBytes(ModuleOp module) {
  PersistentRegion region(module);
  DenseSet<Attribute> constants;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.isPrivate())
      continue;
    StringAttr name = function.getSymNameAttr();
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (BindingAttr scalar = train::bindingOfArgument(function, index, BindingKind::Scalar))
        region.place(scalar, name, type);
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (BindingAttr result = train::bindingOfResult(function, index, BindingKind::Result))
        region.place(result, name, type);
    function.walk([&](onnx::ConstantOp constant) {
      std::string fresh = "constant " + std::to_string(constants.size());
      if (constants.insert(constant.getValue()).second)
        region.place(BindingAttr::get(module.getContext(), BindingKind::State, fresh), name,
                     constant.getResult().getType());
    });
  }
  return region.bytes();
}

} // namespace kedge::analysis
