// Attention of 16-bit operands by Hopper's own instructions: docs/rationale/gpu-attention.md.
#pragma once
#include "passes/Lower/Gpu/library/HalfAttention.h"

namespace kedge::lower::gpu::attention {

/// Emits the forward kernel where the architecture, the shape and the layout of the operands (O, LSE, Q, K,
/// V) allow it; false where they do not.
bool generateWarpgroupAttention(CallKernels &kernels, const AttentionShape &shape,
                                llvm::ArrayRef<Operand> operands);

} // namespace kedge::lower::gpu::attention
