// Functions of f64, within two units in the last place where nothing else is said.
#pragma once
#include "passes/Lower/Cluster/MathExpression.h"

namespace kedge::lower::gpu {

mlir::Value exp64(Expression &e, mlir::Value x);
/// Of x >= 0; a NaN below.
mlir::Value log64(Expression &e, mlir::Value x);
/// x to the power y with IEEE's special cases; the relative error grows with |y log x|, to 1e-13.
mlir::Value pow64(Expression &e, mlir::Value x, mlir::Value y);
/// Of y/x in the quadrant of (x, y), as atan2; both zero gives a NaN.
mlir::Value angle64(Expression &e, mlir::Value y, mlir::Value x);

} // namespace kedge::lower::gpu
