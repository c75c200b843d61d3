// Which loop of an op each dimension of its tensors runs along, and what a rank's share of the op is built
// with.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge {

/// How what stands in a row is cut over ranks: rank i has room for block i of each section, the last ranks
/// may have less than that, or nothing.
struct ShardBlocks {
  llvm::SmallVector<int64_t> sections; ///< each cut by itself; empty: one
  /// Of each section's blocks, the last ones of which end in padding; empty: all blocks are equal.
  llvm::SmallVector<int64_t> rooms;

  bool isPadded() const { return !rooms.empty(); }
  /// Of a rank, of so many elements in all.
  int64_t room(int64_t size, int64_t ranks) const;
  bool operator==(const ShardBlocks &) const = default;
};

/// Whole on every rank, or cut along a dimension.
struct Layout : ShardBlocks {
  int dim = -1;

  Layout() = default;
  Layout(int dim, ShardBlocks blocks) : ShardBlocks(std::move(blocks)), dim(dim) {}
  bool isCut() const { return dim >= 0; }
  bool operator==(const Layout &) const = default;
};

/// A loop of an op that is cut, in the units of the loop.
struct CutLoop : ShardBlocks {
  int loop = -1;

  CutLoop() = default;
  CutLoop(int loop, ShardBlocks blocks) : ShardBlocks(std::move(blocks)), loop(loop) {}
  bool isCut() const { return loop >= 0; }
};

/// One loop of an op. A cut gives each rank along the axis as large a block of it.
struct ShardingLoop {
  /// Where `sections` apply: each of them is cut by itself.
  enum class Sections { OfAnyTensor, OfOperands, OfResults };

  int64_t units = 0;    ///< that blocks consist of: elements, or heads
  bool reduced = false; ///< results are sums over it
  /// What ranks join has the same bits in any order: maxima, or one number and zeros.
  bool isExact = false;
  llvm::SmallVector<int64_t> sections;
  Sections of = Sections::OfAnyTensor;
  /// Whether blocks may end in padding: zeros add nothing to what is summed over the loop.
  bool takesPadding = true;

  /// Whether that many ranks have equal blocks.
  bool isDivisible(int64_t ranks) const;
  /// Whether some ranks have a part of it, and none all.
  bool isCuttable(int64_t ranks) const { return isDivisible(ranks) || (takesPadding && units > 1); }
};

struct ShardingRule {
  llvm::SmallVector<ShardingLoop> loops;
  /// For each tensor and dimension the loop, or kWhole.
  llvm::SmallVector<llvm::SmallVector<int>> operands, results;

  static constexpr int kWhole = -1;

  int addLoop(int64_t units, bool reduced = false);
  /// Whether a rank computes each number as one that has all of the loop does.
  bool keepsBits(int loop) const;
  /// The dimension of a tensor that runs along a loop; kWhole: none does.
  static int dimOf(llvm::ArrayRef<int> tensor, int loop);
};

/// What ops build a rank's share with.
class LocalBuilder {
public:
  LocalBuilder(mlir::OpBuilder &builder, mlir::Location loc, int64_t ranks, CutLoop cut = {})
      : builder(builder), loc(loc), ranks(ranks), cut(std::move(cut)) {}
  virtual ~LocalBuilder() = default;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t ranks; ///< along the axis
  CutLoop cut;   ///< of the op

  virtual mlir::Value sumOverRanks(mlir::Value value) = 0;
  virtual mlir::Value maximumOverRanks(mlir::Value value) = 0;
  /// The result of an op: the sum over the axis, rounded once to `element`. `partial` may be wider. The rank
  /// has its block of it where the op's result is to be one.
  virtual mlir::Value sum(mlir::Value partial, mlir::Type element) = 0;
  /// What is added to a sum, cut as the sum is. `partial` broadcasts it.
  virtual mlir::Value addend(mlir::Value whole, mlir::Value partial) = 0;
  virtual mlir::Value cast(mlir::Value value, mlir::Type element) = 0;
  /// Where the rank's block begins in a dimension whose blocks have `room` elements: i64, one element.
  virtual mlir::Value offset(int64_t room) = 0;
  /// A block of a tensor of the type `whole`, whose padding has this number.
  virtual mlir::Value padded(mlir::Value block, const Layout &layout, mlir::Type whole, double number) = 0;
};

/// The type of a rank's block.
mlir::RankedTensorType blockOf(mlir::Type whole, const Layout &layout, int64_t ranks);
/// What a cut loop of the op means for its tensors.
Layout layoutOfOperand(mlir::Operation *op, const ShardingRule &rule, const CutLoop &cut, unsigned operand,
                       int64_t ranks);
Layout layoutOfResult(mlir::Operation *op, const ShardingRule &rule, const CutLoop &cut, unsigned result,
                      int64_t ranks);
/// Without rooms where all blocks of so many elements are equal.
void simplify(ShardBlocks &blocks, int64_t size, int64_t ranks);

/// The same op on blocks. Attributes that say the shape of the result, the sizes of its parts or of its loops
/// are those of blocks.
mlir::Operation *cloneOnBlocks(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                               const ShardingRule &rule, const CutLoop &cut, int64_t ranks);
/// The type that sums over the axis are added up in, before they are rounded to `element`.
mlir::Type sumTypeOf(mlir::Type element);
/// And sums over the axis where the loop is reduced: 16-bit tensors are widened for it, so that no part of a
/// sum is rounded.
llvm::SmallVector<mlir::Value> cloneLocal(LocalBuilder &local, mlir::Operation *op, mlir::ValueRange operands,
                                          const ShardingRule &rule);
/// By the rule of the op's ShardingOpInterface.
llvm::SmallVector<mlir::Value> cloneLocal(LocalBuilder &local, mlir::Operation *op,
                                          mlir::ValueRange operands);

} // namespace kedge
