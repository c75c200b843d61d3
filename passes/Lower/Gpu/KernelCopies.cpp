#include "passes/Lower/Gpu/KernelCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Lower/Gpu/library/KernelBuilder.h"

using namespace mlir;
using namespace kedge::lower::gpu;

bool kedge::lower::gpu::hasOneRowOfBlocks(mlir::gpu::GPUFuncOp kernel, ArrayRef<int64_t> grid) {
  return grid[1] == 1 && grid[2] == 1 &&
         !kernel
              .walk([](mlir::gpu::BlockIdOp block) {
                return block.getDimension() == mlir::gpu::Dimension::x ? WalkResult::advance()
                                                                       : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Shared memory and tables of its own: modules are cut into kernels, with what belongs to each.
static void ownGlobals(mlir::gpu::GPUModuleOp module, mlir::gpu::GPUFuncOp function) {
  llvm::StringMap<std::string> own;
  function.walk([&](LLVM::AddressOfOp address) {
    if (address.getGlobalName().starts_with(function.getName()))
      return;
    auto [entry, isNew] = own.try_emplace(address.getGlobalName());
    if (isNew) {
      entry->second = function.getName().str() + "_own" + std::to_string(own.size() - 1);
      Operation *copy =
          OpBuilder(function).clone(*module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName()));
      cast<LLVM::GlobalOp>(copy).setSymName(entry->second);
    }
    address.setGlobalName(entry->second);
  });
}

KernelLaunch kedge::lower::gpu::emitCopies(mlir::gpu::GPUFuncOp kernel, ArrayRef<SmallVector<int64_t>> sets,
                                           std::array<int64_t, 3> grid, std::array<int64_t, 3> block) {
  auto module = kernel->getParentOfType<mlir::gpu::GPUModuleOp>();
  KernelLaunch launch;
  for (int64_t number = 0; launch.name.empty() || module.lookupSymbol(launch.name); ++number)
    launch.name = "copies" + std::to_string(number) + "_" + std::to_string(sets.size()) + "_of_" +
                  kernel.getName().str();
  launch.grid = {grid[0], static_cast<int64_t>(sets.size()), 1};
  launch.block = block;
  launch.operands = {{KernelLaunch::Operand::Tensor, 0}};

  auto b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(launch.name));
  const Type pointer = kernel.getArgument(0).getType();
  auto function = mlir::gpu::GPUFuncOp::create(b, loc, launch.name, b.getFunctionType({pointer}, {}));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
  function->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(kernel.getKnownBlockSizeAttr());
  b.setInsertionPointToStart(&function.getBody().front());
  KernelBuilder k(b, function, /*wide=*/false);
  const auto width = static_cast<int64_t>(sets.front().size());
  SmallVector<int64_t> rows;
  for (ArrayRef<int64_t> set : sets)
    llvm::append_range(rows, set);
  Memory table = k.constants(rows);
  const Num set(k, arith::IndexCastOp::create(b, loc, k.indexType,
                                              mlir::gpu::BlockIdOp::create(b, loc, mlir::gpu::Dimension::y)));
  IRMapping mapping;
  for (int64_t operand = 0; operand < width; ++operand)
    mapping.map(kernel.getArgument(operand),
                LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), function.getArgument(0),
                                    ArrayRef<LLVM::GEPArg>{k.load(table, set * width + operand).value}));
  for (Operation &op : kernel.getBody().front())
    b.clone(op, mapping);
  ownGlobals(module, function);
  return launch;
}
