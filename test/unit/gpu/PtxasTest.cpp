// What comes out of compileGpu beside the code.
#include "passes/Lower/Gpu/Ptxas.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace kedge::lower::gpu {
namespace {

TEST(Ptxas, ReportIsReadByKernel) {
  auto kernels = parsePtxasReport(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k1_sum' for 'sm_90'\n"
      "ptxas info    : Function properties for k1_sum\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem\n"
      "ptxas info    : Compiling entry function 'k0_act' for 'sm_90'\n"
      "ptxas info    : Function properties for k0_act\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 29 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "k0_act");
  EXPECT_EQ(kernels[0].registers, 29);
  EXPECT_EQ(kernels[0].sharedBytes, 0);
  EXPECT_EQ(kernels[1].name, "k1_sum");
  EXPECT_EQ(kernels[1].registers, 255);
  EXPECT_EQ(kernels[1].sharedBytes, 4096);
  EXPECT_EQ(kernels[1].stackBytes, 16);
  EXPECT_EQ(kernels[1].spillStores, 8);
  EXPECT_EQ(kernels[1].spillLoads, 12);
}

/// A module whose only kernel stores 1, or calls a function that no device has.
std::string compile(MLIRContext &context, bool calls, FailureOr<GpuCode> &code) {
  context.loadDialect<mlir::gpu::GPUDialect, LLVM::LLVMDialect>();
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToStart(module->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, loc, "kernels");
  if (calls) {
    b.setInsertionPointToStart(kernels.getBody());
    LLVM::LLVMFuncOp::create(b, loc, "tanhf", LLVM::LLVMFunctionType::get(b.getF32Type(), {b.getF32Type()}));
  }
  GpuEmitter emitter(kernels);
  emitter.kernel("one", "one", 1, {32, 1, 1}, [&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel) {
    Value one = LLVM::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
    if (calls)
      one = LLVM::CallOp::create(b, loc, TypeRange{b.getF32Type()}, "tanhf", one).getResult();
    LLVM::StoreOp::create(b, loc, one, kernel.getArgument(0));
  });
  std::string error;
  code = compileGpu(kernels, "sm_80", 1, &error);
  return error;
}

TEST(CompileGpu, CodeHasStatisticsOrANote) {
  MLIRContext context;
  FailureOr<GpuCode> code = failure();
  EXPECT_EQ(compile(context, false, code), "");
  ASSERT_TRUE(succeeded(code));
  EXPECT_NE(code->ptx.find(".visible .entry k0_one("), std::string::npos);
  EXPECT_NE(code->ptx.find(".target sm_80"), std::string::npos);
  EXPECT_EQ(code->cubin.empty(), findPtxas().empty());
  EXPECT_EQ(code->note.empty(), !findPtxas().empty());
  if (!code->cubin.empty()) {
    ASSERT_EQ(code->statistics.size(), 1u);
    EXPECT_EQ(code->statistics[0].name, "k0_one");
    EXPECT_GT(code->statistics[0].registers, 0);
  }
}

TEST(CompileGpu, CallsAreRefused) {
  MLIRContext context;
  FailureOr<GpuCode> code = failure();
  std::string error = compile(context, true, code);
  EXPECT_TRUE(failed(code));
  EXPECT_NE(error.find("tanhf"), std::string::npos) << error;
}

TEST(CompileGpu, EqualKernelsAreOne) {
  MLIRContext context;
  context.loadDialect<mlir::gpu::GPUDialect>();
  OpBuilder b(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  GpuEmitter emitter(mlir::gpu::GPUModuleOp::create(b, b.getUnknownLoc(), "kernels"));
  auto nothing = [](OpBuilder &, mlir::gpu::GPUFuncOp) {};
  EXPECT_EQ(emitter.kernel("a", "x", 0, {1, 1, 1}, nothing), "k0_x");
  EXPECT_EQ(emitter.kernel("b", "x", 0, {1, 1, 1}, nothing), "k1_x");
  EXPECT_EQ(emitter.kernel("a", "y", 0, {1, 1, 1}, nothing), "k0_x");
  EXPECT_EQ(emitter.kernelCount(), 2u);
}

} // namespace
} // namespace kedge::lower::gpu
