// How tensors lie on the ranks along the axis, as attributes of states and ops.
#pragma once
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Interfaces/Sharding.h"

namespace kedge::mesh {

/// The rule of the op's interface, else that of its loop nest for `ranks` ranks; without loops: the op stays
/// whole.
ShardingRule ruleOf(mlir::Operation *op, int64_t ranks);

/// As attributes of states and of ops.
Layout layoutOf(dist::CutAttr cut, mlir::Type type);
dist::CutAttr attributeOf(const Layout &layout, dist::RankGroup group);
CutLoop cutLoopOf(mlir::Operation *op, const ShardingRule &rule);
/// Of the op's result, where it is a sum whose blocks ranks keep; else whole.
Layout scatterOf(mlir::Operation *op);
dist::CutAttr attributeOf(const CutLoop &cut, const ShardingRule &rule, dist::RankGroup group);
/// Whether an attribute can say where its blocks end.
bool canBeSaid(const CutLoop &cut, const ShardingRule &rule, int64_t ranks);

/// A part along another axis of what is reduced by equal parts of whole tensors (dist.parts).
bool readsWhole(mlir::Operation *op);

/// The ranks along `tensor`; one without such an axis.
dist::RankGroup tensorGroup(mlir::Operation *op);

} // namespace kedge::mesh
