// math operations on scalars and vectors -> arithmetic, or calls of libm lane by lane.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "passes/Lower/Cluster/MathFunctions.h"

namespace kedge::lower {

/// Expands every math op that has no machine instruction. f32 functions become polynomials of at most 2 ulp;
/// what has none, and f64, calls libm for each lane. Powers with a constant exponent of 1, 2, 3, 0.5, -0.5,
/// -1, -2 become products, roots and quotients.
mlir::LogicalResult lowerMath(mlir::ModuleOp kernels);

/// The part of it that any target shares: f32 functions with polynomials and simple powers. Others stay.
void expandMath(mlir::Operation *kernels, MathFallback far);

} // namespace kedge::lower
