// Where the experts are in tensors that are made of each other.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace kedge::mesh {

/// Dimension `dim` of a tensor has outer x experts x inner elements.
struct ExpertDim {
  int64_t experts = 0, dim = 0, outer = 1, inner = 1;

  bool operator==(const ExpertDim &other) const = default;
  /// Whether the tensor is [experts, ...].
  bool isPlain() const { return dim == 0 && outer == 1 && inner == 1; }
  ExpertDim moved(int64_t to) const { return {experts, to, outer, inner}; }
  /// A rank's part of a tensor.
  mlir::RankedTensorType partOf(mlir::Type whole, const dist::RankGroup &group) const;
  dist::CutAttr cutOf(mlir::Type whole, const dist::RankGroup &group) const;
};

/// What a rank needs of an operand to make its part of a result.
struct ExpertNeed {
  enum Kind { Whole, Part, PartOfWhole } kind = Whole;
  ExpertDim at;
};

/// Of an op whose parts of results are made of parts of operands: reshapes, transposes, what computes element
/// by element, and values of codes in few bits. Empty: of no such op, or not in whole parts.
std::optional<ExpertNeed> needOf(mlir::OpOperand &operand, ExpertDim ofResult, const dist::RankGroup &group);
/// Makes the op compute the part. Its operands are what needOf says.
void makePart(mlir::Operation *op, ExpertDim ofResult, const dist::RankGroup &group);

} // namespace kedge::mesh
