// The hash of a model file without its weights. The compiler stores it in a program,
// and the program compares it with the model file from which it reads weights.
// FNV-1a with 64 bits: it tells models apart, but does not protect against forgery.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace kedge::rt {

/// Bytes [offset, offset + length) of the model file, or of an external file.
struct WeightBytes {
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string externalLocation; ///< empty: in the model file
};

namespace detail {
inline uint64_t hashBytes(uint64_t state, const uint8_t *data, uint64_t size) {
  for (uint64_t k = 0; k < size; ++k)
    state = (state ^ data[k]) * 0x100000001b3ull;
  return state;
}

inline uint64_t hashNumber(uint64_t state, uint64_t value) {
  uint8_t bytes[8];
  for (int k = 0; k < 8; ++k)
    bytes[k] = static_cast<uint8_t>(value >> (8 * k));
  return hashBytes(state, bytes, 8);
}
} // namespace detail

/// Returns 16 hex digits. `weights` may be in any order; those in the model file must not overlap.
inline std::string hashGraph(const uint8_t *file, uint64_t size, std::vector<WeightBytes> weights) {
  std::sort(weights.begin(), weights.end(), [](const WeightBytes &a, const WeightBytes &b) {
    if (a.externalLocation != b.externalLocation)
      return a.externalLocation < b.externalLocation;
    return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
  });
  uint64_t state = detail::hashNumber(0xcbf29ce484222325ull, size);
  uint64_t position = 0;
  for (const WeightBytes &weight : weights) {
    const std::string &location = weight.externalLocation;
    if (location.empty() && weight.offset >= position && weight.offset <= size &&
        weight.length <= size - weight.offset) {
      state = detail::hashBytes(state, file + position, weight.offset - position);
      position = weight.offset + weight.length;
    }
    state = detail::hashBytes(state, reinterpret_cast<const uint8_t *>(location.data()), location.size());
    state = detail::hashNumber(detail::hashNumber(state, weight.offset), weight.length);
  }
  state = detail::hashBytes(state, file + position, size - position);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(state));
  return text;
}

} // namespace kedge::rt
