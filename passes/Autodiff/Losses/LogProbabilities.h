// Log-probabilities of the labels in rows of tokens.
#pragma once
#include "passes/Autodiff/Losses/Losses.h"

namespace kedge::autodiff {

/// The input that says what a reference gives each row, or each token.
constexpr llvm::StringLiteral kReferenceLogs = "ref_logps";

/// Of an output [rows, tokens, classes]. Labels that are ignored and those outside of the mask have 0.
struct LogProbabilities {
  Value tokens; ///< [rows, tokens]
  Value mask;   ///< [rows, tokens]: 1 where it counts
  Value known;  ///< 1 where the label is not ignored, in the mask or not
  Value losses; ///< -log p of known labels

  Value sums(Formula &f) const { return f.sum(tokens, {1}); }
  Value counts(Formula &f) const { return f.sum(mask, {1}); }
  /// Of each row; 0 where nothing counts.
  Value means(Formula &f, Value ofTokens) const;
};

/// Refuses outputs of another form. Adds the outputs of the log-probabilities to the function.
mlir::FailureOr<LogProbabilities> logProbabilities(Formula &f, const LossInputs &inputs);
/// What the reference gives: with adapters off, or an input; its tokens, or sums over rows.
mlir::FailureOr<Value> referenceTokens(Formula &f, const LossInputs &inputs, const LogProbabilities &own);
mlir::FailureOr<Value> referenceSums(Formula &f, const LossInputs &inputs, const LogProbabilities &own);

} // namespace kedge::autodiff
