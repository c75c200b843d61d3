#pragma once
#include "kedge/Interfaces/Sharding.h"
#include "mlir/IR/OpDefinition.h"

namespace kedge {
/// The op on blocks, by the rule of its PositionOpInterface.
llvm::SmallVector<mlir::Value> cloneOnPositions(LocalBuilder &local, mlir::Operation *op,
                                                mlir::ValueRange operands);
} // namespace kedge

#include "kedge/Interfaces/PositionOpInterface.h.inc"
