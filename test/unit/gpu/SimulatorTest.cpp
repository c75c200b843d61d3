// The simulator itself: what it runs right, and what it must notice.
#include "kedge/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "test/support/GpuSimulator.h"
#include <gtest/gtest.h>
#include <vector>

using namespace mlir;

namespace kedge::test {
namespace {

using Body = std::function<void(OpBuilder &, mlir::gpu::GPUFuncOp, Value thread)>;

/// Runs one block of 64 threads over 64 numbers that start as -1.
std::vector<int32_t> run(const Body &body) {
  MLIRContext context;
  context.loadDialect<mlir::gpu::GPUDialect, LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect>();
  OpBuilder b(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, b.getUnknownLoc(), "kernels");
  lower::gpu::GpuEmitter emitter(kernels);
  lower::gpu::KernelLaunch launch;
  launch.name = emitter.kernel("k", "k", 1, {64, 1, 1}, [&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel) {
    Value id = mlir::gpu::ThreadIdOp::create(b, kernel.getLoc(), b.getIndexType(), mlir::gpu::Dimension::x);
    body(b, kernel, arith::IndexCastOp::create(b, kernel.getLoc(), b.getI32Type(), id));
  });
  launch.block = {64, 1, 1};
  launch.operands = {{lower::gpu::KernelLaunch::Operand::Tensor, 0}};
  std::vector<int32_t> numbers(64, -1);
  char *tensors[] = {reinterpret_cast<char *>(numbers.data())};
  lower::gpu::LaunchCode code;
  code.kernels.push_back(launch);
  GpuSimulator(kernels).run(code, tensors, nullptr);
  return numbers;
}

Value constant(OpBuilder &b, Location loc, int32_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value at(OpBuilder &b, Location loc, Value pointer, Value index) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI32Type(), pointer, ArrayRef<LLVM::GEPArg>{index});
}

/// Every thread gives its number to the one opposite, through shared memory.
std::vector<int32_t> reversed(bool meets) {
  return run([&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
    Location loc = kernel.getLoc();
    Value shared = lower::gpu::sharedMemory(b, kernel, 64 * 4);
    LLVM::StoreOp::create(b, loc, thread, at(b, loc, shared, thread));
    if (meets)
      mlir::gpu::BarrierOp::create(b, loc);
    Value other = arith::SubIOp::create(b, loc, constant(b, loc, 63), thread);
    Value number = LLVM::LoadOp::create(b, loc, b.getI32Type(), at(b, loc, shared, other));
    LLVM::StoreOp::create(b, loc, number, at(b, loc, kernel.getArgument(0), thread));
  });
}

TEST(GpuSimulator, BarrierOrdersSharedMemory) {
  std::vector<int32_t> expected;
  for (int32_t thread = 0; thread < 64; ++thread)
    expected.push_back(63 - thread);
  EXPECT_EQ(reversed(true), expected);
  EXPECT_NE(reversed(false), expected) << "a missing barrier does not show";
}

TEST(GpuSimulator, ShufflesStayInTheirWarp) {
  auto numbers = run([](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
    Location loc = kernel.getLoc();
    Value other = mlir::gpu::ShuffleOp::create(b, loc, thread, 5, 32, mlir::gpu::ShuffleMode::XOR).getShuffleResult();
    LLVM::StoreOp::create(b, loc, other, at(b, loc, kernel.getArgument(0), thread));
  });
  for (int32_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(numbers[thread], thread ^ 5);
}

TEST(GpuSimulator, DivergedBarriersAreErrors) {
  auto diverged = [] {
    run([](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
      Location loc = kernel.getLoc();
      Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread, constant(b, loc, 7));
      auto branch = scf::IfOp::create(b, loc, some, /*withElse=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      mlir::gpu::BarrierOp::create(b, loc);
    });
  };
  EXPECT_THROW(diverged(), Error);
}

} // namespace
} // namespace kedge::test
