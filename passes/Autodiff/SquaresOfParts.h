// The sum of gradients' squares as a balanced tree over equal parts of each tensor: the same bits on any mesh
// that cuts between them.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "passes/Autodiff/GradientReductions.h"

namespace kedge::autodiff {

class SquaresOfParts {
public:
  /// `holders`: the ranks that each have their part of what is cut.
  SquaresOfParts(int64_t parts, dist::RankGroup holders)
      : holders(holders), reductions(static_cast<size_t>(parts / holders.ranks)) {}

  void add(mlir::OpBuilder &builder, mlir::Value gradient);
  /// Over all ranks; null if nothing was added.
  mlir::Value join(mlir::OpBuilder &builder, mlir::Location loc);

private:
  mlir::Value pieceOf(mlir::OpBuilder &builder, mlir::Value row, int64_t part) const;

  dist::RankGroup holders;
  std::vector<SumOfSquares> reductions; ///< of this rank's parts
  SumOfSquares whole; ///< of tensors that have no equal parts: every rank reduces them as they are
};

} // namespace kedge::autodiff
