#include "passes/Lower/KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/NestEmitter.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

/// Everything that makes the kernel what it is; no locations, no names of values.
std::string keyOf(sched::ClusterOp op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op.getDomainAttr() << op.getReducedAttr() << op.getInputMaps() << op.getOutputMaps();
  os << op.getInputs().getTypes() << "->" << op.getOutputs().getTypes() << "\n";
  DenseMap<Value, unsigned> numbers;
  for (BlockArgument argument : op.getBody().getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &inner : op.getBody().front()) {
    os << inner.getName() << inner.getAttrDictionary();
    for (Value operand : inner.getOperands())
      os << " " << numbers.lookup(operand);
    os << ":" << inner.getResultTypes() << "\n";
    for (Value result : inner.getResults())
      numbers.try_emplace(result, numbers.size());
  }
  return key;
}

/// The last name in a location; of fused ones the last part that has any.
StringRef lastName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return lastName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : llvm::reverse(fused.getLocations()))
      if (StringRef name = lastName(part); !name.empty())
        return name;
  return "";
}

/// The last word of a place in the model: "transformer.h.0.ln_1" and "/transformer/h.0/ln_1/Add" give "ln_1"
/// and "Add"; "" when no such word is left.
std::string hintOf(sched::ClusterOp op) {
  SmallVector<StringRef> parts;
  lastName(op.getLoc()).split(parts, '/');
  std::string hint;
  for (StringRef part : llvm::reverse(parts)) {
    part = part.rsplit('.').second.empty() ? part : part.rsplit('.').second;
    hint.clear();
    for (char c : part.take_front(32))
      hint += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
    if (!hint.empty() && llvm::any_of(hint, llvm::isAlpha))
      return hint + "_";
  }
  return "";
}

std::string nameOf(sched::ClusterOp op, size_t number) {
  std::string name = "k" + std::to_string(number) + "_" + hintOf(op);
  std::string sizes;
  for (int64_t size : op.getDomain())
    sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
  return name + (sizes.empty() ? "scalar" : sizes);
}

void emitFunction(ModuleOp kernels, ClusterNest &nest, const LoopPlan &plan, StringRef name) {
  MLIRContext *context = kernels.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, name));
  auto b = OpBuilder::atBlockEnd(kernels.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(b, loc, name, type);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  SmallVector<Value> pointers;
  for (size_t at = 0; at < nest.inputs.size() + nest.outputs.size(); ++at) {
    Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(at)});
    pointers.push_back(LLVM::LoadOp::create(b, loc, pointer, slot, 8, false, false, /*isInvariant=*/true));
  }
  NestEmitter emitter(b, loc, nest, plan, pointers);
  emitter.emit(entry->getArgument(1), entry->getArgument(2));
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

} // namespace

KernelEmitter::KernelEmitter(ModuleOp kernels) : kernels(kernels) {
  kernels.getContext()->loadDialect<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                                    vector::VectorDialect>();
}

FailureOr<KernelInfo> KernelEmitter::emit(sched::ClusterOp cluster) {
  auto [entry, isNew] = byText.try_emplace(keyOf(cluster), infos.size());
  if (!isNew)
    return infos[entry->second];
  auto nest = ClusterNest::of(cluster);
  if (failed(nest)) {
    byText.erase(entry);
    return failure();
  }
  LoopPlan plan = LoopPlan::of(*nest);
  KernelInfo info{nameOf(cluster, infos.size()), plan.iterations, plan.grain};
  emitFunction(kernels, *nest, plan, info.name);
  infos.push_back(info);
  return info;
}
