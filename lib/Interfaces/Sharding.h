// Which loop of an op each dimension of its tensors runs along, and what a rank's share of the op is built
// with.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge {

/// One loop of an op. A cut gives each rank along the axis as large a block of it.
struct ShardingLoop {
  /// Where `sections` apply: each of them is cut by itself.
  enum class Sections { OfAnyTensor, OfOperands, OfResults };

  int64_t units = 0;    ///< that blocks consist of: elements, or heads
  bool reduced = false; ///< results are sums over it
  llvm::SmallVector<int64_t> sections;
  Sections of = Sections::OfAnyTensor;

  /// Whether that many ranks have equal blocks.
  bool isDivisible(int64_t ranks) const;
};

struct ShardingRule {
  llvm::SmallVector<ShardingLoop> loops;
  /// For each tensor and dimension the loop, or kWhole.
  llvm::SmallVector<llvm::SmallVector<int>> operands, results;

  static constexpr int kWhole = -1;

  int addLoop(int64_t units, bool reduced = false);
  /// The dimension of a tensor that runs along a loop; kWhole: none does.
  static int dimOf(llvm::ArrayRef<int> tensor, int loop);
};

/// What ops build a rank's share with.
class LocalBuilder {
public:
  LocalBuilder(mlir::OpBuilder &builder, mlir::Location loc, int64_t ranks)
      : builder(builder), loc(loc), ranks(ranks) {}
  virtual ~LocalBuilder() = default;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t ranks; ///< along the axis

  /// The sum or the maximum over the axis.
  virtual mlir::Value allReduce(mlir::Value value, llvm::StringRef kind) = 0;
  /// The result of an op: the sum over the axis, rounded once to `element`. `partial` may be wider. The rank
  /// has its block of it where the op's result is to be one.
  virtual mlir::Value sum(mlir::Value partial, mlir::Type element) = 0;
  /// What is added to a sum, cut as the sum is. `partial` broadcasts it.
  virtual mlir::Value addend(mlir::Value whole, mlir::Value partial) = 0;
  virtual mlir::Value cast(mlir::Value value, mlir::Type element) = 0;
  /// Where the rank's block begins in a dimension whose blocks have `room` elements: i64, one element.
  virtual mlir::Value offset(int64_t room) = 0;
};

/// The type of a rank's block of a tensor that is cut along `dim`.
mlir::RankedTensorType blockOf(mlir::Type whole, int dim, int64_t ranks);

/// The same op on blocks. Attributes that say the shape of the result, the sizes of its parts or of its loops
/// are those of blocks.
mlir::Operation *cloneOnBlocks(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                               const ShardingRule &rule, int loop, int64_t ranks);
/// The type that sums over the axis are added up in, before they are rounded to `element`.
mlir::Type sumTypeOf(mlir::Type element);
/// And sums over the axis where the loop is reduced: 16-bit tensors are widened for it, so that no part of a
/// sum is rounded.
llvm::SmallVector<mlir::Value> cloneLocal(LocalBuilder &local, mlir::Operation *op, mlir::ValueRange operands,
                                          const ShardingRule &rule, int loop);
/// By the rule of the op's ShardingOpInterface.
llvm::SmallVector<mlir::Value> cloneLocal(LocalBuilder &local, mlir::Operation *op, mlir::ValueRange operands,
                                          int loop);

} // namespace kedge
