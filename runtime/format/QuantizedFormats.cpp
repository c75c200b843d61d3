#include "runtime/format/QuantizedFormats.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {
namespace {

constexpr std::array<float, 16> kNF4 = {-1.0f,
                                        -0.6961928009986877f,
                                        -0.5250730514526367f,
                                        -0.39491748809814453f,
                                        -0.28444138169288635f,
                                        -0.18477343022823334f,
                                        -0.09105003625154495f,
                                        0.0f,
                                        0.07958029955625534f,
                                        0.16093020141124725f,
                                        0.24611230194568634f,
                                        0.33791524171829224f,
                                        0.44070982933044434f,
                                        0.5626170039176941f,
                                        0.7229568362236023f,
                                        1.0f};
constexpr std::array<float, 16> kFP4 = {
    0.0f, 0.0625f / 12,  8.0f / 12,  1.0f,  4.0f / 12,  0.5f,  2.0f / 12,  0.25f,
    0.0f, -0.0625f / 12, -8.0f / 12, -1.0f, -4.0f / 12, -0.5f, -2.0f / 12, -0.25f};
/// Codes in the order of their values.
constexpr std::array<uint8_t, 16> kNF4Order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::array<uint8_t, 16> kFP4Order = {11, 10, 13, 12, 15, 14, 9, 0, 8, 1, 6, 7, 4, 5, 2, 3};

uint8_t nearestFour(QuantizedFormat format, float value) {
  const std::array<float, 16> &table = fourBitTable(format);
  const std::array<uint8_t, 16> &order = format == QuantizedFormat::NF4 ? kNF4Order : kFP4Order;
  size_t above = 0;
  for (size_t k = 0; k + 1 < order.size(); ++k)
    above += (table[order[k]] + table[order[k + 1]]) / 2 < value;
  return order[above];
}

/// torch.linspace(0.1, 1, items + 1): from both ends.
std::vector<float> boundaries(int items) {
  const float step = (1.0f - 0.1f) / static_cast<float>(items);
  std::vector<float> values;
  for (int k = 0; k <= items; ++k)
    values.push_back(k < (items + 1) / 2 ? 0.1f + step * static_cast<float>(k)
                                         : 1.0f - step * static_cast<float>(items - k));
  return values;
}

std::array<float, 256> makeDynamicMap(bool isSigned) {
  std::vector<float> values = {0.0f, 1.0f};
  for (int decade = 0; decade < 7; ++decade) {
    const int items = 1 << (isSigned ? decade : decade + 1);
    const std::vector<float> bounds = boundaries(items);
    const float scale = static_cast<float>(std::pow(10.0, decade - 6));
    for (int k = 0; k < items; ++k) {
      const float value = scale * ((bounds[static_cast<size_t>(k)] + bounds[static_cast<size_t>(k) + 1]) / 2);
      values.push_back(value);
      if (isSigned)
        values.push_back(-value);
    }
  }
  std::sort(values.begin(), values.end());
  std::array<float, 256> map{};
  std::copy(values.begin(), values.end(), map.begin());
  return map;
}

constexpr int kSteps = 65536;

/// The code for each of 65536 values from -1 to 1: bitsandbytes looks numbers up so.
std::vector<uint8_t> makeLookup(bool isSigned) {
  const std::array<float, 256> &map = dynamicMap(isSigned);
  std::vector<uint8_t> lookup(kSteps);
  size_t code = 0;
  for (int k = 0; k < kSteps; ++k) {
    const double at = -1.0f + static_cast<float>(k) * (2.0f / (kSteps - 1));
    while (code + 1 < map.size() && std::abs(map[code + 1] - at) < std::abs(map[code] - at))
      ++code;
    lookup[static_cast<size_t>(k)] = static_cast<uint8_t>(code);
  }
  return lookup;
}

const std::vector<uint8_t> &lookupOf(bool isSigned) {
  static const std::vector<uint8_t> withSign = makeLookup(true), without = makeLookup(false);
  return isSigned ? withSign : without;
}

float largest(std::span<const float> values) {
  float result = 0;
  for (const float value : values)
    result = std::max(result, std::abs(value));
  return result;
}

} // namespace

int packedCode(QuantizedFormat format, const uint8_t *codes, int64_t at) {
  const int bits = bitsOf(format), each = 8 / bits;
  const int code = (codes[at / each] >> (at % each * bits)) & ((1 << bits) - 1);
  return format == QuantizedFormat::Int4 && code >= 8 ? code - 16 : code;
}

/// Unsigned codes of 4 bits, two of a byte at a time; the end of what it wrote.
static float *unpackPairs(const uint8_t *codes, int64_t at, int64_t count, int shift, float scale,
                          float *to) {
  const int64_t end = at + count;
  const auto value = [&](int code) { return static_cast<float>(code - shift) * scale; };
  if (at % 2 != 0 && at < end)
    *to++ = value(codes[at++ / 2] >> 4);
  for (; at + 1 < end; at += 2, to += 2) {
    const int byte = codes[at / 2];
    to[0] = value(byte & 15);
    to[1] = value(byte >> 4);
  }
  if (at < end)
    *to++ = value(codes[at / 2] & 15);
  return to;
}

void BlockedMatrix::unpack(int64_t row, int64_t column, int64_t count, float *to) const {
  const int64_t first = row * columns + column, end = column + count;
  for (int64_t at = column; at < end;) {
    const int64_t blockRow = axis == 0 ? row / block : row, blockColumn = axis == 0 ? at : at / block;
    const int64_t stop = axis == 0 ? at + 1 : std::min(end, (blockColumn + 1) * block);
    const int64_t perRow = axis == 0 ? columns : columns / block;
    const float scale = scales[blockRow * perRow + blockColumn];
    const int shift = zeroPoints ? packedCode(format, zeroPoints, blockRow * zeroPitch + blockColumn) : zero;
    if (format == QuantizedFormat::UInt4)
      to = unpackPairs(codes, first + at - column, stop - at, shift, scale, to), at = stop;
    for (; at < stop; ++at)
      *to++ = static_cast<float>(packedCode(format, codes, first + at - column) - shift) * scale;
  }
}

const std::array<float, 16> &fourBitTable(QuantizedFormat format) {
  return format == QuantizedFormat::NF4 ? kNF4 : kFP4;
}

const std::array<float, 256> &dynamicMap(bool isSigned) {
  static const std::array<float, 256> withSign = makeDynamicMap(true), without = makeDynamicMap(false);
  return isSigned ? withSign : without;
}

void encodeFourBits(QuantizedFormat format, const float *values, int64_t count, bool isEnd, uint8_t *codes,
                    float *absmax) {
  constexpr float tiny = 1e-38f;
  for (int64_t begin = 0; begin < count; begin += kQuantizedBlock) {
    const int64_t size = std::min(kQuantizedBlock, count - begin);
    const float *block = values + begin;
    const bool isPart = isEnd && size < kQuantizedBlock;
    float most = largest({block, static_cast<size_t>(size)});
    if (isPart)
      most = std::max(most, tiny);
    if (absmax)
      absmax[begin / kQuantizedBlock] = most;
    if (!codes)
      continue;
    const float inverse = 1.0f / std::max(most, tiny);
    const auto codeAt = [&](int64_t k) {
      if (k >= size)
        return nearestFour(format, 0.0f);
      const float scaled = isPart ? block[k] / most : block[k] * inverse;
      return nearestFour(format, std::clamp(scaled, -1.0f, 1.0f));
    };
    for (int64_t k = 0; k < size; k += 2)
      codes[(begin + k) / 2] = static_cast<uint8_t>(codeAt(k) << 4 | codeAt(k + 1));
  }
}

float encodeDynamic(bool isSigned, std::span<const float> values, uint8_t *codes) {
  const std::vector<uint8_t> &lookup = lookupOf(isSigned);
  const float most = largest(values);
  if (most == 0) {
    std::fill_n(codes, values.size(), uint8_t(0));
    return 0;
  }
  const float inverse = 1.0f / most;
  for (size_t k = 0; k < values.size(); ++k) {
    const float scaled = std::clamp(values[k] * inverse, -1.0f, 1.0f);
    // Rounded as kernels do. NOLINTNEXTLINE(bugprone-incorrect-roundings)
    const int step = static_cast<int>((scaled + 1.0f) * 32767.5f + 0.5f);
    codes[k] = lookup[static_cast<size_t>(std::min(step, kSteps - 1))];
  }
  return most;
}

NestedAbsmax nestAbsmax(std::span<const float> absmax) {
  NestedAbsmax nested;
  double sum = 0;
  for (const float value : absmax)
    sum += value;
  nested.offset = static_cast<float>(sum / static_cast<double>(absmax.size()));
  nested.codes.resize(absmax.size());
  std::vector<float> block;
  for (size_t begin = 0; begin < absmax.size(); begin += kNestedBlock) {
    block.assign(absmax.begin() + static_cast<std::ptrdiff_t>(begin),
                 absmax.begin() +
                     static_cast<std::ptrdiff_t>(std::min<size_t>(absmax.size(), begin + kNestedBlock)));
    for (float &value : block)
      value -= nested.offset;
    nested.absmax.push_back(encodeDynamic(true, block, nested.codes.data() + begin));
  }
  return nested;
}

} // namespace kedge::rt
