// KEDGE_ROUND_TRIP: what a tool holds is what its text says.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

/// With the environment variable KEDGE_ROUND_TRIP set (and not to 0): prints the module, parses the text and
/// throws kedge::Error, naming the phase and the first op that differs, unless both modules are equal,
/// locations included.
void checkRoundTrip(mlir::ModuleOp module, llvm::StringRef phase);

} // namespace kedge::driver
