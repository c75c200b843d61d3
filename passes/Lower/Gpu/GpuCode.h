// A gpu.module of kernels -> PTX and machine code for NVIDIA GPUs.
#pragma once
#include "lib/Support/FileCache.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace kedge::lower::gpu {

/// What ptxas says of a kernel.
struct KernelStatistics {
  std::string name;
  int registers = 0;                                       ///< of a thread
  int64_t sharedBytes = 0;                                 ///< of a block
  int64_t stackBytes = 0, spillStores = 0, spillLoads = 0; ///< bytes of a thread
};

struct GpuCode {
  std::string ptx;
  std::vector<char> cubin;                  ///< empty when there is no ptxas
  std::vector<KernelStatistics> statistics; ///< by name; empty when there is no ptxas
  std::string note;                         ///< why there is no cubin, for the user; "" when there is one
};

/// Lowers the kernels (destroying the module's contents) for `arch` ("sm_90"). Without fast-math, without
/// contraction, without calls: results depend on the IR only, not on `optLevel` (0 to 3) or `arch`. ptxas is
/// looked for in CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda. PTX and machine code come from `cache` where
/// it has them. On failure `error` says what was wrong.
mlir::FailureOr<GpuCode> compileGpu(mlir::gpu::GPUModuleOp module, llvm::StringRef arch, int optLevel,
                                    std::string *error, FileCache *cache = nullptr);

/// The PTX alone, which ptxas would get.
mlir::FailureOr<std::string> compileToPtx(mlir::gpu::GPUModuleOp module, llvm::StringRef arch, int optLevel,
                                          std::string *error, FileCache *cache = nullptr);

} // namespace kedge::lower::gpu
