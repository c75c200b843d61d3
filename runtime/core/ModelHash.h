// The fingerprint of a model without its weights: tells at start whether a file is the one that was compiled.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt {

/// Bytes [offset, offset + length) of a file.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// 64-bit FNV-1a over all bytes outside `weights` (in any order, may overlap) and over the merged ranges
/// themselves, as 16 hexadecimal digits. Ranges that reach beyond `size` throw rt::Error.
std::string modelHash(const void *bytes, size_t size, std::vector<ByteRange> weights);

} // namespace kedge::rt
