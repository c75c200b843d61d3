// Weights of classes, of positive labels and of rows, as PyTorch has them: weighted sum over sum of weights.
#pragma once
#include "passes/Autodiff/Losses/Losses.h"

namespace kedge::autodiff {

/// Numbers joined by / are a weight for each class. Each item counts as its class does; `smoothing` is
/// PyTorch's, (1 - s) w[y] nll + s / C sum over c of w[c] (-log p[c]).
mlir::LogicalResult weighClasses(Formula &f, const LossInputs &inputs, llvm::StringRef numbers,
                                 double smoothing, ItemLosses &items);
/// One number, or one for each element of the last axis, joined by /: what positive labels count.
mlir::LogicalResult weighPositive(Formula &f, const LossInputs &inputs, llvm::StringRef numbers,
                                  ItemLosses &items);
/// By the input of this name.
mlir::LogicalResult weighRows(Formula &f, const LossInputs &inputs, llvm::StringRef name, ItemLosses &items);

} // namespace kedge::autodiff
