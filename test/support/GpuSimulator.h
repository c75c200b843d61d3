// GPU kernels on this processor: what is emitted for the device runs here, thread by thread.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include <map>
#include <memory>
#include <random>
#include <string>

namespace kedge::lower {
class JitProgram;
}

namespace kedge::test {

/// The very gpu.funcs that become PTX, lowered for the host: the launch grid is a loop, the threads of a
/// block take turns and meet in gpu.barrier and gpu.shuffle. Blocks, and threads between two meetings, run in
/// a random order, so that a missing barrier shows. Meeting elsewhere than the others is an error.
class GpuSimulator {
public:
  /// Compiles a copy of the module. Throws kedge::Error for an operation that is not simulated.
  explicit GpuSimulator(mlir::gpu::GPUModuleOp kernels);
  ~GpuSimulator();

  /// Runs one launch; tensors and workspace are indexed as KernelLaunch::Operand says. Throws kedge::Error
  /// when threads do not meet, naming the kernel.
  void run(const lower::gpu::LaunchCode &code, llvm::ArrayRef<char *> tensors, char *workspace);

private:
  struct Kernel {
    bool meets = false; ///< has barriers or shuffles
    int64_t sharedBytes = 0;
  };
  std::map<std::string, Kernel> kernels;
  std::mt19937 random{1};
  std::unique_ptr<lower::JitProgram> program;
};

} // namespace kedge::test
