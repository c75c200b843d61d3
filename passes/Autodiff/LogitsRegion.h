// What surrounds a product with a very long row of results: the loss behind it, and their gradients.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace kedge::autodiff {

/// The ops that touch logits or their gradient, each of which treats every row (all dims but the last) by
/// itself or sums over rows. So they can run for a few rows at a time.
class LogitsRegion {
public:
  /// Logits: rows x classes. Rows: one value or one short row for each. Sum: reduced over the rows.
  enum class Role { None, Logits, Rows, Sum };

  /// A product x W (+ b) with a matrix W, whose result has more than this many bytes.
  static bool mayStart(mlir::Operation *op, int64_t bytes);
  /// The region that begins with the product; nothing when some op in it needs all rows at once, or no other
  /// op takes part.
  static std::optional<LogitsRegion> from(mlir::Operation *product);

  /// Moves what the region needs before its first op; false (and nothing changed) when that depends on the
  /// region.
  bool gatherOperands();
  /// The op for a chunk of rows, over two-dimensional (or, for labels and losses, one-dimensional) operands;
  /// a sum over rows adds to `sum` if there is one.
  llvm::SmallVector<mlir::Value> buildRows(mlir::OpBuilder &builder, mlir::Operation *op,
                                           const mlir::IRMapping &mapping, mlir::Value sum);

  /// Whether the parts of a sum are added up in f32: sums of 16 bits would be rounded once a chunk.
  static bool sumsInF32(mlir::Value sum);

  Role roleOf(mlir::Value value) const { return roles.lookup(value); }
  bool contains(mlir::Operation *op) const { return llvm::is_contained(ops, op); }
  bool leaves(mlir::Value value) const;
  /// A row operand that is one number per row.
  bool isVector(mlir::Value value) const { return vectors.contains(value); }

  llvm::SmallVector<mlir::Operation *> ops; ///< in the block's order
  llvm::SetVector<mlir::Value> rowOperands; ///< from outside, with a row (or a number) for each row
  int64_t rows = 0, width = 0;              ///< of the logits
  int64_t bytes = 0;                        ///< of the logits

private:
  bool isLogits(mlir::Value value) const { return roleOf(value) == Role::Logits; }
  bool grow(mlir::Operation *op);
  bool growMatmul(mlir::Operation *op);
  bool addRowOperand(mlir::Value value, bool isVector);
  bool isWhole(mlir::Value value) const { return roleOf(value) == Role::None; }
  bool take(mlir::Operation *op, Role role);
  void collectHoisted(mlir::Value value, llvm::SetVector<mlir::Operation *> &hoisted, bool &possible) const;

  llvm::DenseMap<mlir::Value, Role> roles;
  llvm::DenseSet<mlir::Value> vectors;
};

} // namespace kedge::autodiff
