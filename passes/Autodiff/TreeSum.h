// The gradients of parts of the rows, which come one after the other, added as a balanced tree.
#pragma once
#include "passes/Autodiff/FunctionEditing.h"

namespace kedge::autodiff {

class TreeSum {
public:
  /// Of `parts` parts (a power of two), each of `rounds` micro-batches in a row, whose gradients are added in
  /// their order. `index` is the number of the micro-batch.
  TreeSum(BoundFunction &micro, mlir::Value index, int64_t parts, int64_t rounds)
      : function(micro), index(index), parts(parts), rounds(rounds) {}

  /// Adds a gradient; `total` is what the step has so far, in the state `accumulator`. What waits below has
  /// states of its own, like that one. Returns the new total.
  mlir::Value add(mlir::OpBuilder &builder, train::StateOp parameter, train::StateOp accumulator,
                  mlir::Value gradient, mlir::Value total);

private:
  /// Whether the micro-batch ends a run of `size` parts, or its first half.
  mlir::Value endsRun(mlir::OpBuilder &builder, mlir::Location loc, int64_t size);
  mlir::Value endsHalf(mlir::OpBuilder &builder, mlir::Location loc, int64_t size);
  mlir::Value isAt(mlir::OpBuilder &builder, mlir::Location loc, int64_t size, int64_t place);
  mlir::Value ofPart(mlir::OpBuilder &builder, train::StateOp parameter, train::StateOp accumulator,
                     mlir::Value gradient);
  mlir::Value keep(mlir::OpBuilder &builder, train::StateOp parameter, train::StateOp accumulator,
                   int64_t level, mlir::Value sum);
  mlir::Value stateBefore(train::StateOp parameter, train::StateOp accumulator, const std::string &suffix);

  BoundFunction &function;
  mlir::Value index;
  int64_t parts, rounds;
};

} // namespace kedge::autodiff
