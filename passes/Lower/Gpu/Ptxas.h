// PTX -> machine code, by NVIDIA's assembler.
#pragma once
#include "passes/Lower/Gpu/GpuCode.h"

namespace kedge::lower::gpu {

/// Where ptxas is: $CUDA_HOME/bin, $CUDA_PATH/bin, PATH, /usr/local/cuda/bin; "" when there is none.
std::string findPtxas();

/// Fills in the cubin and the statistics of `code.ptx`, or `code.note` when there is no ptxas.
mlir::LogicalResult assemble(GpuCode &code, llvm::StringRef arch, int optLevel, std::string *error,
                             FileCache *cache);

/// Reads what `ptxas -v` prints.
std::vector<KernelStatistics> parsePtxasReport(llvm::StringRef report);

} // namespace kedge::lower::gpu
