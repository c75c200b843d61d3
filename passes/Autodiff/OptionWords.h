// Words of this room's options.
#pragma once
#include "kedge/Support/WordParser.h"
#include "lib/Support/LossSpec.h"
#include "lib/Support/ParsedOption.h"

namespace kedge::autodiff {

/// An update rule. Its formula is that of its op in lib/Dialect/Train/Optimizer.
enum class Optimizer {
  AdamW,
  Adam,
  Sgd,
  Lion,
  Adafactor,
  Muon,
  RmsProp,
  Adagrad,
  AdamW8bit,
  Adam8bit,
  Adopt,
  ScheduleFreeAdamW,
  NorMuon,
  Prodigy,
  Soap,
  Galore,
  Apollo
};

/// What apollo has one factor for.
enum class ScaleType { Channel, Tensor };

/// What adamw leaves out.
enum class Caution { None, Updates, Decay };

/// The type of an optimizer's moments.
enum class Moments { Fp32, Bf16, Int8, Int4 };

} // namespace kedge::autodiff

template <> struct kedge::Words<kedge::autodiff::Optimizer> {
  using enum autodiff::Optimizer;
  static constexpr Word<autodiff::Optimizer> list[] = {
      {AdamW, "adamw", "Adam with decoupled weight decay"},
      {Adam, "adam", "weight decay is part of the gradient"},
      {Sgd, "sgd", "with or without momentum"},
      {Lion, "lion", "the sign of an interpolated moment"},
      {Adafactor, "adafactor", "second moments as sums of rows and columns"},
      {Muon, "muon", "orthogonalised momentum for matrices, AdamW for the rest"},
      {RmsProp, "rmsprop", "second moments alone"},
      {Adagrad, "adagrad", "sums of squares"},
      {AdamW8bit, "adamw8bit", "moments in 8-bit dynamic codes, as bitsandbytes has them"},
      {Adam8bit, "adam8bit", "the same for adam"},
      {Adopt, "adopt", "the gradient over the second moment of the steps before"},
      {ScheduleFreeAdamW, "schedule-free-adamw",
       "evaluates an average of the weights in the place of a schedule"},
      {NorMuon, "normuon", "muon with a second moment of each neuron"},
      {Prodigy, "prodigy", "estimates the rate"},
      {Soap, "soap", "Adam in the eigenbasis of Shampoo's preconditioner for matrices, AdamW for the rest"},
      {Galore, "galore",
       "Adam on gradients of matrices in their first singular directions, AdamW for the rest"},
      {Apollo, "apollo", "gradients of matrices times factors of a random projection, AdamW for the rest"}};
};

template <> struct kedge::Words<kedge::autodiff::Caution> {
  using enum autodiff::Caution;
  static constexpr Word<autodiff::Caution> list[] = {
      {None, "none", "all of the update"},
      {Updates, "updates", "no element moves against its gradient"},
      {Decay, "decay", "no element decays against its update"}};
};

template <> struct kedge::Words<kedge::autodiff::ScaleType> {
  using enum autodiff::ScaleType;
  static constexpr Word<autodiff::ScaleType> list[] = {
      {Channel, "channel", "each row or column along the projected side"},
      {Tensor, "tensor", "the whole matrix"}};
};

template <> struct kedge::Words<kedge::autodiff::Moments> {
  using enum autodiff::Moments;
  static constexpr Word<autodiff::Moments> list[] = {
      {Fp32, "fp32", "of the parameter's type"},
      {Bf16, "bf16", "rounded to 16 bits"},
      {Int8, "int8", "companded, in groups of 32 (train.companded)"},
      {Int4, "int4", "4-bit codes in blocks of 128 (train.adam4bit)"}};
};
