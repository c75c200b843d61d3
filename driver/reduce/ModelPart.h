// A part of a level 1: some of its ops, with inputs in place of what the others made.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace kedge::driver {

/// Which ops of @model are kept, in their order, without the return.
using KeptOps = std::vector<bool>;

/// The ops of @model; none: the module has no @model.
std::vector<mlir::Operation *> opsOfModel(mlir::ModuleOp module);

/// A copy with the kept ops alone. What the others made is an input `cut.K`; what none of the kept ones reads
/// is an output, `end.K` unless it was one before. States that nothing reads are gone.
mlir::OwningOpRef<mlir::ModuleOp> partOf(mlir::ModuleOp module, const KeptOps &kept);

} // namespace kedge::driver
