// GPU kernels in the interpreter of PTX: the very text that ptxas gets.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "test/support/PtxInterpreter.h"

namespace kedge::test {

/// What is noticed when barriers and waits for copies are removed one by one.
struct Removals {
  int64_t tried = 0;                  ///< those that threads come to
  std::vector<std::string> unnoticed; ///< kernel and number of the instruction
};

class GpuPtx {
public:
  /// Compiles for "sm_90" or another one, and destroys the module's contents. Throws kedge::Error.
  GpuPtx(mlir::gpu::GPUModuleOp kernels, llvm::StringRef arch);
  /// Runs one launch; "" or everything that the interpreter finds.
  std::string run(const lower::gpu::LaunchCode &code, llvm::ArrayRef<llvm::MutableArrayRef<char>> tensors,
                  llvm::MutableArrayRef<char> workspace);
  /// `isNoticed` runs kernels, which are whole before and after.
  Removals removals(llvm::function_ref<bool()> isNoticed);

private:
  std::unique_ptr<PtxProgram> parsed;
  bool firstIsEnough = false; ///< of findings
};

} // namespace kedge::test
