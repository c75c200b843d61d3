// Masks of attention: which say no more than places do, which do nothing, what is left as an operand.
#pragma once
#include "kedge/Dialect/Train/Gradient/Visible.h"
#include "mlir/IR/Builders.h"
#include "passes/Import/CompactEvaluator.h"

namespace kedge::raise {

/// Gathers the masks of one attention. A band is what two bounds of key minus query let see: causal, windows.
class MaskMatcher {
public:
  /// `visible`: what is known already. Constants are bands unless `keepsTensors`.
  MaskMatcher(CompactEvaluator &evaluator, mlir::OpBuilder &builder, mlir::Location loc,
              train::Visible visible, bool keepsTensors)
      : visible(visible), evaluator(evaluator), builder(builder), loc(loc), keepsTensors(keepsTensors) {}

  /// A mask that is added to the scores; false when it cannot be taken.
  bool addFloat(mlir::Value mask);
  /// true: visible.
  bool addBool(mlir::Value mask);
  /// The one operand that is left; null when there is none.
  mlir::Value operand();

  train::Visible visible;
  int64_t bands = 0; ///< masks that were taken into `visible`

private:
  enum class Kind { Unknown, Nothing, Band, Other };
  /// What a compile-time constant hides; sets `band`, which leaves each query a key, for one.
  Kind classify(mlir::Value mask, train::Visible &band);
  bool take(const train::Visible &band);
  /// The conjuncts of a bool mask that hide something and are no band (those too unless `takesBands`).
  void conjuncts(mlir::Value mask, bool takesBands, llvm::SmallVectorImpl<mlir::Value> &left);
  mlir::Value conjunction(llvm::ArrayRef<mlir::Value> parts);

  CompactEvaluator &evaluator;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool keepsTensors;
  mlir::Value bools, floats;
};

} // namespace kedge::raise
