// The rows of tokens on the ranks that have their experts.
#pragma once
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Dist/RoutingOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/Sharding.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::mesh {

/// Of one choice of experts, a value [T, S]: places, each of which has one. What a rank has of a value with a
/// row for each place is [R, ...], the rows that came to it.
class ExpertRows {
public:
  /// Before reshapes.
  static mlir::Value rootOf(mlir::Value chosen);

  /// Exchanges counts and experts in front of `first`. `share`: R is so many times the rank's own places; 0:
  /// the most that can come.
  ExpertRows(mlir::Operation *first, mlir::Value chosen, int64_t experts, double share,
             dist::RankGroup group);

  int64_t capacity() const { return room; }
  /// Rows that come to the busiest rank by the products' `load`: as to each when all experts have as many.
  mlir::IntegerAttr expected() const {
    return mlir::Builder(chosen_.getContext()).getI64IntegerAttr(std::min(room, likely));
  }
  /// [R, 1]: of the rank's own experts, their number for rows behind those that came.
  mlir::Value experts() const { return local_; }
  /// The same with an expert for all rows.
  mlir::Value someExperts(PlacedBuilder &builder) const;
  /// What the rank has of a value whose first dims are those of places, `each` of which share a row. Computed
  /// from what it has where that is so of the operands, else sent.
  mlir::Value local(PlacedBuilder &builder, mlir::Value value, int64_t each);
  /// Whether it follows from rows that are here: then nothing is sent for it.
  bool isLocal(mlir::Value value);
  /// `made` [R, ...] is what the rank has of `whole`; other readers of that get it at its places.
  void replace(PlacedBuilder &builder, mlir::Value whole, mlir::Value made);

private:
  /// An operand of an op that computes rows by themselves.
  struct Operand {
    int64_t each = 0; ///< 0: it has no rows
  };
  struct RowOp {
    int64_t leading = 0; ///< dims of results that count places
    llvm::SmallVector<Operand> operands;
  };

  int64_t leadingDims(mlir::ArrayRef<int64_t> shape, int64_t rows) const;
  std::optional<RowOp> rowOpOf(mlir::Operation *op) const;
  std::optional<Operand> operandOf(mlir::Operation *op, const ShardingRule &rule, unsigned number,
                                   mlir::ArrayRef<int64_t> dims) const;
  bool isScaled(mlir::Value value) const;
  mlir::Value rowsOf(PlacedBuilder &builder, mlir::Value operand, int64_t leading, int64_t each);
  mlir::Value compute(PlacedBuilder &builder, mlir::Value value);
  mlir::Value send(PlacedBuilder &builder, mlir::Value value, int64_t rows);
  mlir::Value withDims(PlacedBuilder &builder, mlir::Value local, int64_t leading) const;

  /// Null where the products have no `load`.
  mlir::IntegerAttr sent() const { return hasLoad ? expected() : mlir::IntegerAttr(); }
  void takeLoad();

  mlir::Value chosen_;
  int64_t count, places, room = 0, likely = 0;
  bool hasLoad = false;
  dist::RankGroup group;
  mlir::Value counts, local_;
  llvm::DenseMap<mlir::Value, mlir::Value> known; ///< [R, ...], by value
  llvm::DenseMap<mlir::Value, bool> locals;
};

} // namespace kedge::mesh
