// Memory of GPU kernels.
#pragma once
#include "passes/Lower/Cluster/ElementMemory.h"

namespace kedge::lower::gpu {

/// Elements of a kernel's tensors, or of shared memory.
inline ElementMemory gpuMemory(ScalarOps &ops, mlir::Type element) {
  return {ops, element, ElementMemory::Vectors::AlignedAsAWhole};
}

} // namespace kedge::lower::gpu
