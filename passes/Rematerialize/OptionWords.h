// Words of this room's options.
#pragma once
#include "kedge/Support/Words.h"

namespace kedge::remat {

/// What a plan does with a value between its uses.
enum class Decision { Keep, Recompute, Offload };

} // namespace kedge::remat

template <> struct kedge::Words<kedge::remat::Decision> {
  using enum remat::Decision;
  static constexpr Word<remat::Decision> list[] = {
      {Keep, "keep", "it stays in memory"},
      {Recompute, "recompute", "it is computed again"},
      {Offload, "offload", "it goes to host memory and comes back"}};
};
