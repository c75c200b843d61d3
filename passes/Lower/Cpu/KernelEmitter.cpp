#include "passes/Lower/Cpu/KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Cluster/KernelNames.h"
#include "passes/Lower/Cpu/NestEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

std::string nameOf(sched::ClusterOp op, size_t number) {
  return "k" + std::to_string(number) + "_" + kernelHint(op);
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
  kernels.getContext()
      ->loadDialect<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
}

FailureOr<KernelInfo> KernelEmitter::emit(sched::ClusterOp cluster) {
  auto [entry, isNew] = byText.try_emplace(kernelKey(cluster), infos.size());
  if (!isNew)
    return infos[entry->second];
  auto nest = ClusterNest::of(cluster);
  if (failed(nest)) {
    byText.erase(entry);
    return failure();
  }
  if (!nest->summed.empty()) {
    byText.erase(entry);
    return cluster.emitOpError(
        "has a sched.sum, which kernels of CPUs do not compute; compile with --target cuda");
  }
  LoopPlan plan = LoopPlan::of(*nest);
  KernelInfo info{nameOf(cluster, infos.size()), plan.iterations, plan.grain};
  emitFunction(kernels, *nest, plan, info.name);
  infos.push_back(info);
  return info;
}
