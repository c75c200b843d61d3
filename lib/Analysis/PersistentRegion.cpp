#include "lib/Analysis/PersistentRegion.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Dialect/ONNX/CoreOps.h"
#include "lib/Dialect/Train/StateOps.h"
#include "lib/Support/StorageBytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using kedge::train::BindingAttr;
using kedge::train::BindingKind;

namespace kedge::analysis {

PersistentRegion::PersistentRegion(ModuleOp module)
    : onHost(hostStates(module)), alignment(arenaAlignment(module)) {
  for (auto state : module.getOps<train::StateOp>())
    place(BindingAttr::get(module.getContext(), BindingKind::State, state.getSymName()), {}, state.getType());
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

int64_t hostStateBytes(ModuleOp module) { return PersistentRegion(module).hostBytes(); }

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
