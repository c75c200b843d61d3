#include "runtime/core/ModelHash.h"
#include "runtime/core/Error.h"
#include <algorithm>

namespace kedge::rt {
namespace {

struct Fnv1a {
  uint64_t state = 0xcbf29ce484222325ull;

  void add(const unsigned char *bytes, size_t count) {
    uint64_t hash = state;
    for (size_t i = 0; i < count; ++i)
      hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    state = hash;
  }

  void add(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      const unsigned char byte = static_cast<unsigned char>(value >> shift);
      add(&byte, 1);
    }
  }
};

std::vector<ByteRange> merged(std::vector<ByteRange> ranges, size_t size) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange &a, const ByteRange &b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
  });
  std::vector<ByteRange> result;
  for (const ByteRange &range : ranges) {
    if (range.offset > size || range.length > size - range.offset)
      fail("a weight at bytes {}+{} lies outside the model file of {} bytes", range.offset, range.length, size);
    if (range.length == 0)
      continue;
    if (!result.empty() && range.offset <= result.back().offset + result.back().length) {
      const uint64_t end = std::max(result.back().offset + result.back().length, range.offset + range.length);
      result.back().length = end - result.back().offset;
    } else {
      result.push_back(range);
    }
  }
  return result;
}

} // namespace

std::string modelHash(const void *bytes, size_t size, std::vector<ByteRange> weights) {
  const auto *data = static_cast<const unsigned char *>(bytes);
  Fnv1a hash;
  uint64_t position = 0;
  for (const ByteRange &range : merged(std::move(weights), size)) {
    hash.add(data + position, range.offset - position);
    hash.add(range.offset);
    hash.add(range.length);
    position = range.offset + range.length;
  }
  hash.add(data + position, size - position);
  return fmt::format("{:016x}", hash.state);
}

} // namespace kedge::rt
