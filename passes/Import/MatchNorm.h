// What the norms' raise passes share.
#pragma once
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "passes/Import/MatchUtils.h"

namespace kedge::raise {

/// value / sqrt(mean(value^2) + epsilon) over the dims from `axis` on.
struct Deviation {
  mlir::Value value;
  int64_t axis = 0;
  double epsilon = 0;
};
/// Reads a Div by the root or a Mul by its reciprocal, however either is written.
std::optional<Deviation> matchDeviation(mlir::Operation *root);

/// The weight and bias that follow a normalised value, where nobody else uses what lies between.
struct AffineTail {
  mlir::Value scale, bias; ///< null when there is none
  mlir::Value last;        ///< the value that the norm replaces
};
AffineTail followAffine(mlir::Value normalized, int64_t axis, bool withBias);

/// The weight in the shape of x's dims from `axis` on; ones when it is null.
mlir::Value rowScale(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value weight, mlir::Value x,
                     int64_t axis);

} // namespace kedge::raise
