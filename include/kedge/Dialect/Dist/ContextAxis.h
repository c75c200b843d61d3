// The axis along which ranks have the same rows, and of each other positions. Weights are whole on each, and
// what a rank's positions make of their gradients is summed as over `data`.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"

namespace kedge::dist {

inline constexpr llvm::StringLiteral contextAxis = "context";

RankGroup contextGroup(mlir::Operation *op);
/// All ranks whose gradients are summed.
RankGroup gradientGroup(mlir::Operation *op);

} // namespace kedge::dist
