// --weight-decay-exclude and --lr-scale: options of single parameters.
#pragma once
#include "driver/options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

/// Notes them on the states of level 1 that train. Throws kedge::Error for an expression that matches none.
void applyParameterOptions(mlir::ModuleOp module, const CompileOptions &options);

} // namespace kedge::driver
