// A hash that tells whether a tensor in a file is the one a program was compiled with. About as fast as
// memory.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <string>

namespace kedge::rt {

/// 16 hex digits. Four words are mixed independently, so that no multiplication waits for another.
inline std::string hashWeights(const char *bytes, size_t count) {
  constexpr uint64_t factor = 0x9e3779b97f4a7c15ull;
  std::array<uint64_t, 4> lanes{count, 1, 2, 3};
  const auto mix = [](uint64_t lane, const char *from, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, from, size);
    lane = (lane ^ word) * factor;
    return lane ^ lane >> 29;
  };
  size_t at = 0;
  for (; at + 32 <= count; at += 32)
    for (size_t k = 0; k < 4; ++k)
      lanes[k] = mix(lanes[k], bytes + at + 8 * k, 8);
  for (; at < count; at += 8)
    lanes[0] = mix(lanes[0], bytes + at, count - at < 8 ? count - at : 8);
  uint64_t hash = 0;
  for (const uint64_t lane : lanes)
    hash = mix(hash, reinterpret_cast<const char *>(&lane), 8);
  return fmt::format("{:016x}", hash);
}

} // namespace kedge::rt
