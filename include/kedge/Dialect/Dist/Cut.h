// What is cut along the axis `tensor`, until kedge-localize has carried it out.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"

namespace kedge::dist {

/// Attribute of a state, and of an op on level 2 (a #dist.cut): the dimension, or the loop of the op, that an
/// axis cuts.
inline constexpr llvm::StringLiteral cutName = DistDialect::CutAttrHelper::getNameStr();
/// Attribute of an op on level 2 whose result is a sum over the axis (a #dist.cut): each rank keeps its block
/// of the sum, along this dimension of the result.
inline constexpr llvm::StringLiteral scatterName = DistDialect::ScatterAttrHelper::getNameStr();
/// The axis along which dimensions of single tensors are cut.
inline constexpr llvm::StringLiteral tensorAxis = "tensor";

} // namespace kedge::dist
