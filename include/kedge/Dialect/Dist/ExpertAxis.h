// The axis along which ranks have experts of their own. They train on different rows, as those along `data`
// do, and rows go to the ranks that have their experts.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"

namespace kedge::dist {

inline constexpr llvm::StringLiteral expertAxis = "expert";

RankGroup expertGroup(mlir::Operation *op);
/// Whether the tensor is cut along `expert`. `sharding` may be null.
bool isOfExperts(ShardingAttr sharding);
/// The ranks that have flat parts of a tensor: dataGroup, but those along `data` alone of one that experts
/// cut.
RankGroup partGroup(mlir::Operation *op, ShardingAttr sharding);

} // namespace kedge::dist
