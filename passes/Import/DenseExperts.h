// Experts that are all computed for all tokens, most of them to be multiplied by zero.
#pragma once
#include "kedge/Support/Target.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace kedge::raise {

/// For a `root` that is sum over e of g[t, e] f_e(x[t]), where g is scattered from `k` experts of each token:
/// the same sum over these experts alone, of the root's type. Null for any other op; where such a sum stays,
/// a remark says why.
mlir::Value chosenExperts(mlir::Operation *root, TargetKind target);

} // namespace kedge::raise
