#pragma once
#include "lib/Dialect/Dist/DistDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Dist/DistAttrs.h.inc"

namespace kedge::dist {

inline constexpr llvm::StringLiteral meshName = "dist.mesh";
/// Attribute of a module with sharded states: the ZeRO stage, 1 to 3.
inline constexpr llvm::StringLiteral stageName = "dist.stage";
/// Name of the mesh axis along which ranks train on different rows.
inline constexpr llvm::StringLiteral dataAxis = "data";

/// The number of elements of a tensor of `elements` that each rank holds.
int64_t shardElements(int64_t elements, int64_t ranks);
/// The type of the part of a tensor that a rank holds: one dimension, padding included.
mlir::RankedTensorType shardOf(mlir::Type whole, int64_t ranks);

/// Number of ranks along the data axis of a module's mesh (1 without a mesh), and the ZeRO stage (0 without one).
int64_t dataRanks(mlir::Operation *module);
int64_t stageOf(mlir::Operation *module);

} // namespace kedge::dist
