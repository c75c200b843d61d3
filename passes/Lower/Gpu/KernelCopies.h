// Launches of one small kernel on several sets of tensors, as one launch.
#pragma once
#include "passes/Lower/Gpu/GpuKernels.h"

namespace kedge::lower::gpu {

/// Whether `kernel` may run as several: its blocks know of one row of blocks alone.
bool hasOneRowOfBlocks(mlir::gpu::GPUFuncOp kernel, llvm::ArrayRef<int64_t> grid);

/// A kernel that runs `kernel` on each set of operands, a row of blocks each, which find theirs in a table of
/// the kernel. A set: bytes from the only operand, tensor 0, to each operand of `kernel`.
KernelLaunch emitCopies(mlir::gpu::GPUFuncOp kernel, llvm::ArrayRef<llvm::SmallVector<int64_t>> sets,
                        std::array<int64_t, 3> grid, std::array<int64_t, 3> block);

} // namespace kedge::lower::gpu
