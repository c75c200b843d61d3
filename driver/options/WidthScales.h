// --mup: maximal update parametrization, by the widths that a base file has.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

struct CompileOptions;

/// Throws kedge::Error for an optimizer without a rule, and with adapters.
void checkWidths(const CompileOptions &options);

/// Notes rates and decays of their own on the states of level 1 that train, as mup.MuAdam and mup.MuSGD have
/// them. Throws kedge::Error for files that do not fit each other.
void applyWidths(mlir::ModuleOp module, const CompileOptions &options);

} // namespace kedge::driver
