#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Dist/CollectiveOps.h.inc"

namespace kedge::dist {
/// Whether all ranks must execute the op together.
bool isCollective(mlir::Operation *op);
} // namespace kedge::dist
