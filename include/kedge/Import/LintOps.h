// What lint asks about operators, answered by the importers' registry and the onnx dialect's interfaces.
#pragma once
#include "kedge/Import/Lint.h"
#include "mlir/IR/MLIRContext.h"

namespace kedge::lint {

/// The context's dialects must be loaded, and it must outlive the result.
Operators lintOperators(mlir::MLIRContext &context);

} // namespace kedge::lint
