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
  Ctc,
  Dpo,
  Ipo,
  Orpo,
  Simpo,
  Kto,
  Reward,
  Grpo,
  PpoClip,
  Dapo,
  Kl,
  ReverseKl,
  Js
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
      {Ctc, "ctc", "of a sequence of labels without their places"},
      {Dpo, "dpo", "of pairs: the chosen row beside the rejected one, both beside a reference"},
      {Ipo, "ipo", "the same, squared, of means over tokens"},
      {Orpo, "orpo", "cross-entropy of the chosen row and the odds of both"},
      {Simpo, "simpo", "of pairs without a reference, of means over tokens"},
      {Kto, "kto", "of rows that are good or not, beside a reference"},
      {Reward, "reward", "of pairs of scores: the chosen one is larger"},
      {Grpo, "grpo", "clipped policy gradient, a mean of each row's mean"},
      {PpoClip, "ppo-clip", "clipped policy gradient, a mean over tokens"},
      {Dapo, "dapo", "the same with wider bounds upwards"},
      {Kl, "kl", "of a teacher's logits: what the model's lack of them"},
      {ReverseKl, "reverse-kl", "the other way round: where the teacher sees nothing"},
      {Js, "js", "of both from their mixture"}};
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
  case Reward:
  case Kl:
  case ReverseKl:
  case Js:
    return LossLabels::None;
  case CrossEntropy:
  case Poly:
  case Dpo:
  case Ipo:
  case Orpo:
  case Simpo:
  case Kto:
  case Grpo:
  case PpoClip:
  case Dapo:
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

/// Whether it compares log-probabilities of rows of tokens: preferences and policy gradients.
constexpr bool readsTokens(LossFunction loss) {
  using enum LossFunction;
  return labelsOf(loss) == LossLabels::Classes && loss != CrossEntropy && loss != Poly;
}

/// Whether it is a preference among rows of tokens, with a parameter beta.
constexpr bool comparesRows(LossFunction loss) {
  using enum LossFunction;
  return loss == Dpo || loss == Ipo || loss == Orpo || loss == Simpo || loss == Kto;
}

/// Whether it compares logits with those of a teacher.
constexpr bool readsTeacher(LossFunction loss) {
  using enum LossFunction;
  return loss == Kl || loss == ReverseKl || loss == Js;
}

/// Whether each item may weigh as its class does.
constexpr bool weighsClasses(LossFunction loss) {
  return labelsOf(loss) == LossLabels::Classes && !readsTokens(loss);
}

/// Whether it makes probabilities of its output itself.
constexpr bool readsLogits(LossFunction loss) {
  using enum LossFunction;
  return labelsOf(loss) == LossLabels::Classes || loss == BceWithLogits || loss == Focal || loss == Dice ||
         loss == Ctc || readsTeacher(loss);
}

} // namespace kedge
