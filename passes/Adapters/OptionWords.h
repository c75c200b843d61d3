// Words of this room's options.
#pragma once
#include "kedge/Support/WordParser.h"

namespace kedge::adapters {

/// Of B A, with alpha.
enum class Scaling { Standard, RankStabilized };
/// Values of A at the start.
enum class FirstValues { Kaiming, Gaussian };

} // namespace kedge::adapters

template <> struct kedge::Words<kedge::adapters::Scaling> {
  using enum adapters::Scaling;
  static constexpr Word<adapters::Scaling> list[] = {{Standard, "standard", "alpha / rank"},
                                                     {RankStabilized, "rslora", "alpha / sqrt(rank)"}};
};

template <> struct kedge::Words<kedge::adapters::FirstValues> {
  using enum adapters::FirstValues;
  static constexpr Word<adapters::FirstValues> list[] = {
      {Kaiming, "kaiming", "uniform, by the size of the input"},
      {Gaussian, "gaussian", "of deviation 1 / rank"}};
};
