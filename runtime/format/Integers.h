// What an exported file of integers has of the program's values: codes, scales and zero points, as
// train.fake_quantize and train.range_scale compute them.
#pragma once
#include "runtime/format/OnnxWriter.h"

namespace kedge::rt {

/// Bytes of the piece ["integers", state, "i8" | "u8" | "i4" | "f32", dims, facts].
uint64_t sizeOfIntegers(const nlohmann::json &piece);
std::vector<uint8_t> integersOf(const nlohmann::json &piece, const StateLookup &lookup);

} // namespace kedge::rt
