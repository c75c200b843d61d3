// How a tensor lies on the ranks along the axis, and what an op's cut loop means for its tensors.
#pragma once
#include "lib/Dialect/Dist/Cut.h"
#include "lib/Dialect/Dist/DistAttrs.h"
#include "lib/Interfaces/Sharding.h"

namespace kedge::mesh {

/// Whole on every rank, or cut along a dimension.
struct Layout {
  int dim = ShardingRule::kWhole;
  llvm::SmallVector<int64_t> sections; ///< of the dimension, each cut by itself; empty: one

  bool isCut() const { return dim != ShardingRule::kWhole; }
  bool operator==(const Layout &) const = default;
};

/// A loop of an op that is cut, with the sections of its tensors.
struct CutLoop {
  int loop = ShardingRule::kWhole;
  llvm::SmallVector<int64_t> sections;

  bool isCut() const { return loop != ShardingRule::kWhole; }
};

Layout layoutOfOperand(const ShardingRule &rule, const CutLoop &cut, unsigned operand);
Layout layoutOfResult(const ShardingRule &rule, const CutLoop &cut, unsigned result);

/// The rule of the op's interface, else that of its loop nest for `ranks` ranks; without loops: the op stays
/// whole.
ShardingRule ruleOf(mlir::Operation *op, int64_t ranks);

/// As attributes of states and of ops.
Layout layoutOf(dist::CutAttr cut);
dist::CutAttr attributeOf(const Layout &layout, dist::RankGroup group);
CutLoop cutLoopOf(mlir::Operation *op);
/// Of the op's result, where it is a sum whose blocks ranks keep; else whole.
Layout scatterOf(mlir::Operation *op);
dist::CutAttr attributeOf(const CutLoop &cut, dist::RankGroup group);

/// The ranks along `tensor`; one without such an axis.
dist::RankGroup tensorGroup(mlir::Operation *op);

} // namespace kedge::mesh
