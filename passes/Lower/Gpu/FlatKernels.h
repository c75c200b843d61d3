// Clusters that walk all their tensors in step, whatever their shapes: one kernel can run many of them.
#pragma once
#include "passes/Lower/Cluster/ClusterNest.h"
#include "passes/Lower/Gpu/GpuKernels.h"

namespace kedge::lower::gpu {

/// Whether every output is one row of all the domain's elements and every input such a row or one number: an
/// update of a parameter is. Draws and indices would hang on the shape; tensors of bool and of one element
/// are left out.
bool isFlat(const ClusterNest &nest);

/// All that decides what a flat cluster computes beside the number of elements.
std::string flatText(const ClusterNest &nest);

/// A function (no kernel) of the cluster's tensors, the number of elements and the first element of this
/// block, for blocks of kFlatThreads threads that take kFlatElements each, in accesses of 16 bytes.
mlir::gpu::GPUFuncOp emitFlatFunction(mlir::gpu::GPUModuleOp module, const ClusterNest &nest,
                                      llvm::StringRef name);

constexpr int64_t kFlatThreads = 256, kFlatElements = 4096;

/// A set of tensors: bytes from the kernel's argument to each, in the order of the function's arguments.
struct FlatTensors {
  int64_t elements = 0;
  llvm::SmallVector<int64_t> offsets;
};

/// A kernel that runs `flat` on every set: blocks find theirs in a table of the kernel. Its only operand is
/// tensor 0.
KernelLaunch emitGroup(mlir::gpu::GPUFuncOp flat, llvm::ArrayRef<FlatTensors> sets, llvm::StringRef hint);

} // namespace kedge::lower::gpu
