// Sharding specs of the file that no op of a step can follow.
#pragma once
#include "passes/Mesh/Annotations.h"

namespace kedge::mesh {

/// Warns of each, with node, tensor and what to annotate instead. `annotations` have entered the function.
void reportLostSpecs(mlir::func::FuncOp function, const Annotations &annotations);

} // namespace kedge::mesh
