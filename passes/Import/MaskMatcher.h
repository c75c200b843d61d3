// Masks of attention: which are causal, which do nothing, what is left as an operand.
#pragma once
#include "mlir/IR/Builders.h"
#include "passes/Import/CompactEvaluator.h"
#include <optional>

namespace kedge::raise {

/// Gathers the masks of one attention. Queries see key j when j <= i + offset under a causal mask.
class MaskMatcher {
public:
  MaskMatcher(CompactEvaluator &evaluator, mlir::OpBuilder &builder, mlir::Location loc)
      : evaluator(evaluator), builder(builder), loc(loc) {}

  /// A mask that is added to the scores; false when it cannot be taken.
  bool addFloat(mlir::Value mask);
  /// true: visible.
  bool addBool(mlir::Value mask);
  /// The one operand that is left; null when there is none.
  mlir::Value operand();

  std::optional<int64_t> causalOffset;

private:
  enum class Kind { Unknown, Nothing, Causal, Other };
  /// What a compile-time constant hides; sets `offset` for causal ones.
  Kind classify(mlir::Value mask, int64_t &offset);
  bool takeCausal(int64_t offset);
  /// The conjuncts of a bool mask that hide something and are not causal (those too unless `causal`).
  void conjuncts(mlir::Value mask, bool causal, llvm::SmallVectorImpl<mlir::Value> &left);
  mlir::Value conjunction(llvm::ArrayRef<mlir::Value> parts);

  CompactEvaluator &evaluator;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value bools, floats;
};

} // namespace kedge::raise
