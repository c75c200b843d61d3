// Between lint and the importer: what lint asks about operators, answered by the importers' registry and the onnx
// dialect's interfaces, and what its verdicts are to the importer.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "kedge/Lint/Lint.h"
#include "mlir/IR/MLIRContext.h"
#include <map>

namespace kedge::lint {

/// The context's dialects must be loaded, and it must outlive the result.
Operators lintOperators(mlir::MLIRContext &context);

/// ImportOptions::roles, by initializer name.
std::map<std::string, train::Role> rolesOf(const Report &findings);

} // namespace kedge::lint
