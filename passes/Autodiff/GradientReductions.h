// What gradients boil down to before the updates: the sum of their squares, and whether all of them are
// finite.
#pragma once
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace kedge::autodiff {

/// The shape of a gradient that is reduced row by row; of a short one, its own.
llvm::SmallVector<int64_t> longRowsOf(llvm::ArrayRef<int64_t> shape);

/// The sum of one tensor's squares, a scalar in f32: rows first, then the tensor.
mlir::Value sumOfSquares(mlir::OpBuilder &builder, mlir::Value gradient);

/// A reduction over all gradients in few launches, however many gradients there are: short vectors are joined
/// to one row, which is reduced once. Of a large one each row is reduced where the gradient is made, and
/// these results are joined to one row, too. The order of terms is that of `add`.
class GradientReduction {
public:
  virtual ~GradientReduction() = default;
  void add(mlir::OpBuilder &builder, mlir::Value gradient);
  /// What reduceRows() left of some rows of a gradient.
  void addReduced(mlir::Value row) { reduced.push_back(row); }
  /// Each row of a gradient reduced, as one row.
  mlir::Value reduceRows(mlir::OpBuilder &builder, mlir::Value gradient) const;
  /// A scalar in f32; null if nothing was added.
  mlir::Value join(mlir::OpBuilder &builder, mlir::Location loc);

private:
  /// The reduction of the last dimension.
  virtual mlir::Value reduceLast(mlir::OpBuilder &builder, mlir::Value values) const = 0;
  /// A scalar of what reduceLast left.
  virtual mlir::Value reduceAgain(mlir::OpBuilder &builder, mlir::Value row) const = 0;
  virtual mlir::Value combine(mlir::OpBuilder &builder, mlir::Value a, mlir::Value b) const = 0;

  llvm::MapVector<mlir::Type, llvm::SmallVector<mlir::Value>> shortRows; ///< gradients by element type
  llvm::SmallVector<mlir::Value> reduced;
};

class SumOfSquares : public GradientReduction {
  mlir::Value reduceLast(mlir::OpBuilder &builder, mlir::Value values) const override;
  mlir::Value reduceAgain(mlir::OpBuilder &builder, mlir::Value row) const override;
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value a, mlir::Value b) const override;
};

/// 1 when any element is infinite or no number, else 0.
class AnyNotFinite : public GradientReduction {
  mlir::Value reduceLast(mlir::OpBuilder &builder, mlir::Value values) const override;
  mlir::Value reduceAgain(mlir::OpBuilder &builder, mlir::Value row) const override;
  mlir::Value combine(mlir::OpBuilder &builder, mlir::Value a, mlir::Value b) const override;
};

} // namespace kedge::autodiff
