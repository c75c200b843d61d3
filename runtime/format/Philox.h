// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011). Generated kernels must compute the same bits as this file.
//
// Dropout: key = (seed, op id), counter = (block, row, step). row is the row of the step (row_base +
// i), block is element of the row / 4, and the element uses word element % 4. It is kept if
// uniform(word) >= ratio. So recomputation, resuming and any split of a step's rows draw the same mask.
#pragma once
#include <array>
#include <cstdint>

namespace kedge::rt {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox4x32(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t(0xD2511F53u) * counter[0];
    const uint64_t product1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Four words for the elements 4 * block .. 4 * block + 3 of a row. A seed below 2^32
/// is word 0 of the key; the upper half of a larger seed is mixed into the op id.
inline PhiloxBlock randomBlock(uint64_t seed, uint32_t opId, uint64_t step, uint32_t row, uint32_t block) {
  return philox4x32({block, row, static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                    static_cast<uint32_t>(seed), opId ^ static_cast<uint32_t>(seed >> 32));
}

/// The upper 24 bits as an exact float in [0, 1).
inline float uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

} // namespace kedge::rt
