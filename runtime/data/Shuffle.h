// A permutation of [0, n) that needs no memory: a Feistel network keyed by Philox, applied until
// the result is below n. The same on all ranks, so every rank knows the order of every epoch.
#pragma once
#include "runtime/format/Philox.h"

namespace kedge::rt {

/// The image of `index` < `count` under the permutation for (seed, epoch); a bijection of [0, count).
inline int64_t permuted(int64_t index, int64_t count, uint64_t seed, uint64_t epoch) {
  int bits = 1;
  while ((int64_t(1) << (2 * bits)) < count)
    ++bits;
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  uint64_t value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> bits, right = value & mask;
    for (uint32_t round = 0; round < 6; ++round) {
      const PhiloxBlock random =
          philox4x32({static_cast<uint32_t>(right), round, static_cast<uint32_t>(epoch),
                      static_cast<uint32_t>(epoch >> 32)},
                     static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
      const uint64_t next = left ^ (random[0] & mask);
      left = right;
      right = next;
    }
    value = left << bits | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}

} // namespace kedge::rt
