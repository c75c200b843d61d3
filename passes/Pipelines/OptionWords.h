// Words of options that no single pass takes.
#pragma once
#include "lib/Support/Words.h"

namespace kedge::pipelines {

/// What is kept of parameters in f32 where a step computes in 16 bits.
enum class MasterWeights { On, Split, Off };
/// Whose statistics a BatchNormalization takes.
enum class BatchNorm { MicroBatch, Exact };

} // namespace kedge::pipelines

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
