// The losses that Kedge computes itself, as options of the linter, of passes and of commands name them.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge {

/// None: the graph computes its loss itself.
enum class LossFunction {
  None,
  CrossEntropy,
  Mse,
  BceWithLogits,
  Focal,
  Dice,
  Huber,
  SmoothL1,
  Quantile,
  Poly,
  Contrastive,
  Triplet,
  Ctc
};

template <> struct Words<LossFunction> {
  using enum LossFunction;
  static constexpr Word<LossFunction> list[] = {
      {None, "none", "an output of the graph is the loss"},
      {CrossEntropy, "cross-entropy", "of logits and classes"},
      {Mse, "mse", "the squared error"},
      {BceWithLogits, "bce-with-logits", "binary cross-entropy of logits"},
      {Focal, "focal", "binary cross-entropy that counts easy elements less"},
      {Dice, "dice", "what two areas do not share"},
      {Huber, "huber", "squared near 0, linear beyond delta"},
      {SmoothL1, "smooth-l1", "the same, over beta"},
      {Quantile, "quantile", "the error of a quantile"},
      {Poly, "poly", "cross-entropy with a term of the probability"},
      {Contrastive, "contrastive", "a row is nearest to its pair among all"},
      {Triplet, "triplet", "a row is nearer to its like than to another"},
      {Ctc, "ctc", "of a sequence of labels without their places"}};
};

/// What a loss compares its output with.
enum class LossLabels {
  None,    ///< rows with each other
  Classes, ///< integers, in the output's shape less the class axis
  Numbers, ///< floats in the output's shape
  Own      ///< an input that the loss describes itself
};

constexpr LossLabels labelsOf(LossFunction loss) {
  using enum LossFunction;
  switch (loss) {
  case None:
  case Contrastive:
  case Triplet:
    return LossLabels::None;
  case CrossEntropy:
  case Poly:
    return LossLabels::Classes;
  case Mse:
  case BceWithLogits:
  case Focal:
  case Dice:
  case Huber:
  case SmoothL1:
  case Quantile:
    return LossLabels::Numbers;
  case Ctc:
    return LossLabels::Own;
  }
  return LossLabels::None;
}

/// Whether it makes probabilities of its output itself.
constexpr bool readsLogits(LossFunction loss) {
  using enum LossFunction;
  return loss == CrossEntropy || loss == BceWithLogits || loss == Focal || loss == Dice || loss == Poly ||
         loss == Ctc;
}

} // namespace kedge
