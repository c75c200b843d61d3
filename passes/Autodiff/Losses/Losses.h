// The losses by name: each is one formula of its outputs and labels.
#pragma once
#include "kedge/abi/LossNames.h"
#include "lib/Support/LossSpec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Losses/Formula.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace kedge::autodiff {

/// What the log says of a step besides its loss: sum over items, a number.
struct Metric {
  abi::StepMetric kind;
  Value sum;
};

/// What a loss reads.
struct LossInputs {
  mlir::func::FuncOp function;
  const LossTerm &term;
  llvm::SmallVector<Value> outputs; ///< in f32; those of a loss with classes may have 16 bits
  Value labels;                     ///< null where it has none, or describes them itself
  std::string labelsName;
  int64_t classAxis, ignoreIndex;
  double smoothing;  ///< of labels
  bool betaIsScalar; ///< the parameter beta is a scalar of the run
  Value reference;   ///< the output as it is with adapters off; null: there are no adapters

  Value output() const { return outputs.front(); }
  double parameter(llvm::StringRef name) const { return term.parameter(name); }
  /// The input of this name, made where there is none; null, with an error, where it has another type.
  Value input(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, mlir::Type element) const;
  /// Integers of this input are from 0 to `highest`, or `allowed`.
  void bound(llvm::StringRef name, int64_t highest, int64_t allowed) const;
  mlir::InFlightDiagnostic refuse() const;
};

/// What a loss gives. The loss of a step is the sum of `losses` over the sum of `counts`.
struct ItemLosses {
  Value losses;            ///< [rows / rowsPerItem, ...]
  Value counts;            ///< what each counts, in their shape; null: 1
  int64_t rowsPerItem = 1; ///< pairs have 2
  bool isOfBatch = false;  ///< an item depends on other rows: it has no loss of its own in evaluation
  llvm::SmallVector<Metric> metrics;
  /// What is added to the mean: each is a mean over items of its own.
  std::vector<ItemLosses> beside;
};

mlir::FailureOr<ItemLosses> buildLoss(Formula &f, const LossInputs &inputs);

// By kind.
using BuildLoss = mlir::FailureOr<ItemLosses>(Formula &, const LossInputs &);
BuildLoss crossEntropy, poly, ctc, squaredError, huber, smoothL1, quantile, binary, focal, dice, contrastive,
    triplet, dpo, ipo, orpo, simpo, kto, reward, grpo, clippedPolicy, forwardKl, reverseKl, jensenShannon;

} // namespace kedge::autodiff
