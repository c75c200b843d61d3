// A product next to a collective along `tensor`, and how both are cut into two halves of their rows.
#pragma once
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace kedge::mesh {

/// Ops of the first half, in a block of their own: to ask what they take.
struct Halves {
  mlir::Operation *collective = nullptr;
  llvm::SmallVector<mlir::Operation *> products, copies;
};

/// Rows as a collective has them, between views. A rank has rows of each half.
struct HalvedRows {
  int64_t ranks = 0;
  /// Of the rows between collective and product; with more than one outer dimension, halves are along it, and
  /// the ranks go behind it by a transposition.
  int64_t before = 1;
  int64_t rows = 0;            ///< in all
  int64_t columns = 0;         ///< elements of a row
  mlir::RankedTensorType sent; ///< [ranks, before, rows of a rank, columns], columns maybe in several rows

  bool isTransposed() const { return before > 1; }
  bool isDivisible() const;
  /// Of a tensor with so many columns: the rows in two dimensions, the second or (transposed) the first of
  /// which is cut.
  llvm::SmallVector<int64_t> shape(int64_t columns, bool isHalf) const;
  int64_t dim() const { return isTransposed() ? 0 : 1; }
  mlir::RankedTensorType sentHalf() const;
};

/// The sum over ranks of a product, of which each rank keeps some rows.
struct ScatteredMatmul {
  mlir::Operation *product = nullptr;
  dist::ReduceScatterOp sum;
  HalvedRows rows;

  static std::optional<ScatteredMatmul> match(mlir::Operation *op);
  /// The sum of the first half runs under the product of the second.
  void halve();
  Halves sample(mlir::Block &block);
};

/// Products of what is gathered. Other readers gather it themselves, where they are.
struct GatheredMatmuls {
  dist::AllGatherOp gather;
  llvm::SmallVector<mlir::Operation *> views, ///< from the gathered to what is multiplied
      products, others;
  HalvedRows rows;

  static std::optional<GatheredMatmuls> match(mlir::Operation *op);
  /// The gather of the second half runs under the products of the first.
  void halve();
  Halves sample(mlir::Block &block);
};

} // namespace kedge::mesh
