// Values of constants that lie in the model file: masks that an exporter computed.
#pragma once
#include "lib/Interpret/ConstantEvaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::raise {

/// Binds the arguments that `value` is computed from and that stand for states of role constant or buffer of
/// at most 64 MiB. What cannot be read (a plan needs no weights) stays unknown.
void bindConstantStates(mlir::Value value, interpret::ConstantEvaluator &evaluator);

} // namespace kedge::raise
