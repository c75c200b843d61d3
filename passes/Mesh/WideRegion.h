// What surrounds values with many more numbers a row than the rows that they are made of: the inner part of a
// feed-forward, in forward and backward.
#pragma once
#include "kedge/Interfaces/Sharding.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <vector>

namespace kedge::mesh {

/// The ops that make or read wide values, each of which treats every row by itself or sums over rows: so
/// that they can run for a few rows at a time.
class WideRegion {
public:
  struct Member {
    mlir::Operation *op = nullptr;
    ShardingRule rule;
    int loop = -1; ///< along the rows
    int phase = 0; ///< members of a phase read what others of it make, or what is made before all of them

    bool isSum() const { return rule.loops[loop].reduced; }
    /// The dimension along the rows; kWhole: the tensor has none.
    int dimOfOperand(unsigned i) const { return ShardingRule::dimOf(rule.operands[i], loop); }
    int dimOfResult(unsigned i) const { return ShardingRule::dimOf(rule.results[i], loop); }
  };

  /// A product of rows with a matrix, whose result is wider than the rows and has more than so many bytes.
  static bool mayStart(mlir::Operation *op, int64_t bytes);
  /// The region around the product, for so many chunks; nothing where some op needs all rows at once, or all
  /// that is done with the wide values is to multiply them.
  static std::optional<WideRegion> from(mlir::Operation *product, int64_t chunks);

  const Member *memberOf(mlir::Operation *op) const;
  /// Along the rows, of what a member makes; kWhole: a sum over rows, or nothing that a member makes.
  int dimOf(mlir::Value value) const;
  bool leaves(mlir::Value value) const;
  mlir::Operation *firstOf(int phase) const;
  /// Moves what members need before the first op of their phase; false (and nothing moved) where that cannot
  /// be.
  bool gatherOperands() const;

  std::vector<Member> members; ///< in the block's order
  int64_t rows = 0;            ///< elements of the dimension that is cut
  int phases = 0;

private:
  bool grow();
  bool addUse(mlir::Operation *op, unsigned number, bool isResult, int dim);
  bool join(const Member &member);
  bool reach(mlir::Value value, int dim);
  bool isWide(mlir::Value value) const;
  bool finish();
  void setPhases();

  int64_t chunks = 0, allRows = 0, narrow = 0;        ///< elements of a row that enters
  llvm::DenseMap<mlir::Operation *, unsigned> places; ///< among the members
  llvm::DenseMap<mlir::Value, int> dims;              ///< of wide values
  llvm::SmallVector<mlir::Value> work;
};

/// Whether some function has such a region with more than so many bytes.
bool hasWideFeedForward(mlir::ModuleOp module, int64_t bytes);

} // namespace kedge::mesh
