#pragma once
#include "kedge/Dialect/Dist/DistDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Dist/DistAttrs.h.inc"

namespace kedge::dist {

inline constexpr llvm::StringLiteral meshName = "dist.mesh";
/// Of a module whose states are sharded: the stage of ZeRO, 1 to 3.
inline constexpr llvm::StringLiteral stageName = "dist.stage";
/// The axis along which ranks train on different rows.
inline constexpr llvm::StringLiteral dataAxis = "data";

/// Elements of a rank's part of `elements`.
int64_t shardElements(int64_t elements, int64_t ranks);
/// The type of a rank's part of a tensor: of one dimension, padding included.
mlir::RankedTensorType shardOf(mlir::Type whole, int64_t ranks);

/// Ranks along the data axis of a module's mesh, 1 without one; the ZeRO stage, 0 without one.
int64_t dataRanks(mlir::Operation *module);
int64_t stageOf(mlir::Operation *module);

} // namespace kedge::dist
