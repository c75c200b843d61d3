#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Gpu/GpuKernels.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

GpuEmitter::GpuEmitter(mlir::gpu::GPUModuleOp module, bool warpgroups)
    : module(module), warpgroups(warpgroups) {
  module.getContext()
      ->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, arith::ArithDialect, math::MathDialect,
                    scf::SCFDialect, vector::VectorDialect, mlir::gpu::GPUDialect>();
}

std::string GpuEmitter::kernel(StringRef key, StringRef hint, unsigned pointers, std::array<int64_t, 3> block,
                               Body body) {
  auto [entry, isNew] = byKey.try_emplace(key);
  if (!isNew)
    return entry->second;
  std::string name = "k" + std::to_string(byKey.size() - 1) + "_" + hint.str();
  entry->second = name;
  if (!module)
    return name;
  MLIRContext *context = module.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, name));
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context, unsigned(NVVM::NVVMMemorySpace::Global));
  auto type = builder.getFunctionType(SmallVector<Type>(pointers, pointer), {});
  auto function = mlir::gpu::GPUFuncOp::create(builder, loc, name, type);
  function->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({int32_t(block[0]), int32_t(block[1]), int32_t(block[2])}));
  for (unsigned at = 0; at < pointers; ++at)
    function.setArgAttr(at, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(16));
  builder.setInsertionPointToStart(&function.getBody().front());
  body(builder, function);
  builder.setInsertionPointToEnd(&function.getBody().back());
  mlir::gpu::ReturnOp::create(builder, loc);
  return name;
}

Value kedge::lower::gpu::sharedMemory(OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, int64_t bytes,
                                      int64_t alignment) {
  auto module = kernel->getParentOfType<mlir::gpu::GPUModuleOp>();
  unsigned number = 0;
  std::string name;
  do
    name = kernel.getName().str() + "_shared" + std::to_string(number++);
  while (module.lookupSymbol(name));
  unsigned space = unsigned(NVVM::NVVMMemorySpace::Shared);
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(kernel);
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    global = LLVM::GlobalOp::create(builder, kernel.getLoc(), type, /*isConstant=*/false,
                                    LLVM::Linkage::Internal, name, Attribute(), alignment, space);
  }
  return LLVM::AddressOfOp::create(builder, kernel.getLoc(), global);
}
