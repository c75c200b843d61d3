#pragma once
#include "lib/Dialect/Dist/DistAttrs.h"
#include "lib/Interfaces/DifferentiableOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Dist/CollectiveOps.h.inc"

namespace kedge::dist {
/// Whether all ranks must execute the op together.
bool isCollective(mlir::Operation *op);
} // namespace kedge::dist
