// One arith or math op on scalars.
#pragma once
#include "mlir/IR/Operation.h"

namespace kedge::interpret {
/// A float (any width, held rounded to its type) or an integer (sign-extended from its width; bool 0 or 1).
union Scalar {
  double f;
  int64_t i;
};
/// False for ops that are not known.
bool interpretScalar(mlir::Operation &op, llvm::ArrayRef<Scalar> operands, Scalar &result);
/// Rounds to the type: f32 for f32, wraps integers to their width.
Scalar roundTo(Scalar value, mlir::Type type);
} // namespace kedge::interpret
