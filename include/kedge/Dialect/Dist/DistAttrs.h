#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Operation.h"

#include "kedge/Dialect/Dist/DistAttrsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Dist/DistAttrs.h.inc"
#include "kedge/Dialect/Dist/DistDialect.h.inc"

namespace kedge::dist {

inline constexpr llvm::StringLiteral meshName = DistDialect::MeshAttrHelper::getNameStr();
/// Attribute of a module with sharded states: the ZeRO stage, 1 to 3.
inline constexpr llvm::StringLiteral stageName = DistDialect::StageAttrHelper::getNameStr();
/// Attribute of a module that is the program of some ranks of its mesh: their numbers.
inline constexpr llvm::StringLiteral ranksName = DistDialect::RanksAttrHelper::getNameStr();
/// Attribute of a module whose sums over rows are balanced trees over so many equal parts of a step's rows,
/// on any mesh.
inline constexpr llvm::StringLiteral partsName = DistDialect::PartsAttrHelper::getNameStr();
/// Attribute of a module whose @micro computes all parts of a rank (kedge-join-parts).
inline constexpr llvm::StringLiteral joinedName = DistDialect::JoinedAttrHelper::getNameStr();
/// Attribute of a module: an array of #dist.annotation, what the file says of its nodes, until
/// kedge-propagate-shardings and kedge-assign-stages have followed it.
inline constexpr llvm::StringLiteral annotationsName = DistDialect::AnnotationsAttrHelper::getNameStr();
/// Names of mesh axes. Along `data` and `replica` ranks train on different rows; states are cut along `data`
/// alone.
inline constexpr llvm::StringLiteral dataAxis = "data", replicaAxis = "replica";
/// Along `pipeline` ranks compute different ops; each op and state of level 2 may have the stage that it is
/// of.
inline constexpr llvm::StringLiteral pipelineAxis = "pipeline",
                                     pipelineStageName = DistDialect::PipelineStageAttrHelper::getNameStr();
/// Attribute of a module that is the program of a pipeline's rank: what all of them run, and when (a
/// #dist.timetable).
inline constexpr llvm::StringLiteral timetableName = DistDialect::TimetableAttrHelper::getNameStr();

/// The ranks that take part in a collective: those along one axis, or along several ("replica,data"), as the
/// mesh orders them.
struct RankGroup {
  mlir::StringAttr axis;
  int64_t ranks = 1;

  bool isAlone() const { return ranks == 1; }
};

/// The number of elements of a tensor of `elements` that each rank holds.
int64_t shardElements(int64_t elements, int64_t ranks);
/// The type of the part of a tensor that a rank holds: one dimension, padding included.
mlir::RankedTensorType localShardOf(mlir::Type whole, int64_t ranks);

/// The type of a rank's box of a tensor whose dimensions are cut, padding included.
mlir::RankedTensorType boxOf(mlir::Type whole, llvm::ArrayRef<CutAttr> cuts);

/// Groups of the mesh of an op's module; one rank without a mesh. `rowGroup` has all ranks that train on
/// different rows.
RankGroup dataGroup(mlir::Operation *op);
RankGroup replicaGroup(mlir::Operation *op);
RankGroup rowGroup(mlir::Operation *op);
RankGroup pipelineGroup(mlir::Operation *op);
/// The mesh of an op's module; null without one.
MeshAttr meshOf(mlir::Operation *op);
/// All ranks of the mesh.
int64_t meshRanks(mlir::Operation *op);
/// Parts of the rows of a step whose sums are a tree (dist.parts); 0: sums are in any order. And those of one
/// rank that its micro-batches are.
int64_t partsOf(mlir::Operation *op);
int64_t ownPartsOf(mlir::Operation *op);
/// The ZeRO stage of a module; 0 without one.
int64_t stageOf(mlir::Operation *module);

} // namespace kedge::dist
