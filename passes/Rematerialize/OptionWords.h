// Words of this room's options.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge::remat {

/// How long plans are looked for. All but Whole look for none where it is proven that nothing fits, and prove
/// nothing of what no plan falls below.
enum class PlanSearch { Whole, Quick, Smallest, Policies };

/// What a plan does with a value between its uses.
enum class Decision { Keep, Recompute, Offload };

} // namespace kedge::remat

template <> struct kedge::Words<kedge::remat::PlanSearch> {
  using enum remat::PlanSearch;
  static constexpr Word<remat::PlanSearch> list[] = {
      {Whole, "whole", "for all budgets"},
      {Quick, "quick", "with a quarter of the effort"},
      {Smallest, "smallest", "for the smallest alone; the first that fits is taken"},
      {Policies, "policies", "among those of the policies; the first that fits is taken"}};
};

template <> struct kedge::Words<kedge::remat::Decision> {
  using enum remat::Decision;
  static constexpr Word<remat::Decision> list[] = {
      {Keep, "keep", "it stays in memory"},
      {Recompute, "recompute", "it is computed again"},
      {Offload, "offload", "it goes to host memory and comes back"}};
};
