// The losses that Kedge computes itself, as options of the linter, of passes and of commands name them.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge {

/// None: the graph computes its loss itself.
enum class LossFunction { None, CrossEntropy, Mse, BceWithLogits };

template <> struct Words<LossFunction> {
  using enum LossFunction;
  static constexpr Word<LossFunction> list[] = {
      {None, "none", "an output of the graph is the loss"},
      {CrossEntropy, "cross-entropy", "of logits and classes"},
      {Mse, "mse", "the squared error"},
      {BceWithLogits, "bce-with-logits", "binary cross-entropy of logits"}};
};

} // namespace kedge
