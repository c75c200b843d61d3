// Connects lint and the importer. Lint asks about operators; the registry of importers and
// the interfaces of the onnx dialect answer. Lint's verdicts become the importer's roles.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "lib/Lint/Lint.h"
#include "mlir/IR/MLIRContext.h"
#include <map>

namespace kedge::importer {

/// The context's dialects must be loaded, and it must outlive the result.
lint::Operators lintOperators(mlir::MLIRContext &context);

/// ImportOptions::roles, by initializer name.
std::map<std::string, train::Role> rolesOf(const lint::Report &findings);

} // namespace kedge::importer
