// Reverse-mode differentiation of one value of a function: shared by the loss and by train.gradient_of.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace kedge::autodiff {

class Backward {
public:
  /// `places` listens to the builder of run(): what is built has the place of the op whose gradient it is.
  Backward(mlir::func::FuncOp function, PlaceListener &places) : function(function), places(places) {}

  /// Builds the gradient of the use `y` (of one element, weighted by `seed`) with respect to `xs` at the
  /// builder's place, behind what makes y. Decomposes ops on the way that have no gradient of their own, so
  /// that values are replaced: `y` is a use and not a value for that reason. All ops without a gradient are
  /// reported before it fails.
  mlir::LogicalResult run(mlir::OpBuilder &builder, mlir::OpOperand &y, double seed, mlir::ValueRange xs);
  /// After run(): null when y does not depend on x.
  mlir::Value gradient(mlir::Value x) const { return gradients.lookup(x); }

private:
  void markOp(mlir::Operation &op);
  bool isActive(mlir::Operation &op) const;
  mlir::LogicalResult prepareOps(mlir::Value y);
  mlir::LogicalResult decompose(mlir::Operation *op, llvm::DenseSet<mlir::Value> &needed,
                                mlir::Operation *&cursor);
  mlir::LogicalResult walkBackwards(mlir::OpBuilder &builder);
  mlir::LogicalResult differentiate(mlir::OpBuilder &builder, mlir::Operation *op,
                                    llvm::ArrayRef<mlir::Value> resultGrads);
  void accumulate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value operand, mlir::Value gradient);

  mlir::func::FuncOp function;
  PlaceListener &places;
  llvm::DenseSet<mlir::Value> active; // values that a change of xs changes
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

} // namespace kedge::autodiff
