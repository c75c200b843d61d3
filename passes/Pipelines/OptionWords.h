// Words of options that no single pass takes.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge::pipelines {

/// Of weights in use, activations and gradients.
enum class Precision { Fp32, Bf16, Fp16, Fp8 };
/// The type of a step's gradients, or of their sums.
enum class GradientType { Fp32, Bf16, Fp16 };
/// What is kept of parameters in f32 where a step computes in 16 bits.
enum class MasterWeights { On, Split, Off };
/// Whose statistics a BatchNormalization takes.
enum class BatchNorm { MicroBatch, Exact };

} // namespace kedge::pipelines

template <> struct kedge::Words<kedge::pipelines::Precision> {
  using enum pipelines::Precision;
  static constexpr Word<pipelines::Precision> list[] = {
      {Fp32, "fp32", "32 bits"},
      {Bf16, "bf16", "16 bits, f32's exponents"},
      {Fp16, "fp16", "16 bits, with a scaled loss"},
      {Fp8, "fp8", "bf16 with matrix products of 8-bit floats"}};
};

template <> struct kedge::Words<kedge::pipelines::GradientType> {
  using enum pipelines::GradientType;
  static constexpr Word<pipelines::GradientType> list[] = {
      {Fp32, "fp32", "32 bits"}, {Bf16, "bf16", "16 bits, f32's exponents"}, {Fp16, "fp16", "16 bits"}};
};

template <> struct kedge::Words<kedge::pipelines::MasterWeights> {
  using enum pipelines::MasterWeights;
  static constexpr Word<pipelines::MasterWeights> list[] = {
      {On, "on", "f32"}, {Split, "split", "16 bits and what they lack"}, {Off, "off", "16 bits alone"}};
};

template <> struct kedge::Words<kedge::pipelines::BatchNorm> {
  using enum pipelines::BatchNorm;
  static constexpr Word<pipelines::BatchNorm> list[] = {{MicroBatch, "micro-batch", "of each micro-batch"},
                                                        {Exact, "exact", "of all micro-batches of a step"}};
};
