// Which classes the exported program's modules have.
#pragma once
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::importer {

/// Sets `train.modules` = {path = "class"} on the module, from the exporter's metadata; nothing without it.
/// Blocks of
/// --recompute are instances of a class (passes/Rematerialize/Blocks.h).
void recordModuleClasses(mlir::ModuleOp module, const model::Model &model);

} // namespace kedge::importer
