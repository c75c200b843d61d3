// GPU kernels in the interpreter of PTX: the very text that ptxas gets.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "test/support/PtxInterpreter.h"

namespace kedge::test {

class GpuPtx {
public:
  /// Compiles for "sm_90" or another one, and destroys the module's contents. Throws kedge::Error.
  GpuPtx(mlir::gpu::GPUModuleOp kernels, llvm::StringRef arch);
  /// Runs one launch; "" or everything that the interpreter finds.
  std::string run(const lower::gpu::LaunchCode &code, llvm::ArrayRef<llvm::MutableArrayRef<char>> tensors,
                  llvm::MutableArrayRef<char> workspace);
  PtxProgram &program() { return *parsed; }

private:
  std::unique_ptr<PtxProgram> parsed;
};

} // namespace kedge::test
