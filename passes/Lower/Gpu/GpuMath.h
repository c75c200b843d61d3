// math operations of kernels -> arithmetic: there is no library to call on a GPU.
#pragma once
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Support/LLVM.h"

namespace kedge::lower::gpu {

/// Expands every math op that has no instruction. f32 functions are those of the CPU (MathLowering.h), the
/// rest goes through f64 and is rounded once; f64 has exp, log, powers and roots. Others fail after a
/// diagnostic.
mlir::LogicalResult lowerMath(mlir::gpu::GPUModuleOp kernels);

} // namespace kedge::lower::gpu
