#include "runtime/cpu/gemm/IntegerBlock.h"

namespace kedge::rt::cpu {
namespace {

/// What turns stored bits into a signed number that is 0 or 128 less.
constexpr uint8_t kHalfRange = 0x80;
uint8_t flipOf(DType type) { return type == DType::U8 ? kHalfRange : 0; }
int64_t shifted(int64_t zero, DType type) { return zero - flipOf(type); }

} // namespace

void IntegerBlock::packRows(int64_t first, int64_t rows, int64_t q, int64_t depth, int64_t padded) {
  const uint8_t flip = flipOf(a_.type);
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t *from = a_.base + (first + i) * a_.stride + q;
    int8_t *to = rows_.data() + i * kDepth;
    uint32_t sum = 0;
    for (int64_t p = 0; p < depth; ++p) {
      to[p] = static_cast<int8_t>(from[p] ^ flip);
      sum += static_cast<uint32_t>(to[p]);
    }
    std::fill(to + depth, to + padded, 0);
    rowSums_[i] += sum;
  }
}

void IntegerBlock::packColumns(const uint8_t *row, int64_t columns, int64_t p) {
  const uint8_t flip = flipOf(typeB_);
  int8_t *to = columns_.data() + p / tile_.depth * tile_.depth * kIntegerColumns + p % tile_.depth;
  for (int64_t j = 0; j < columns; ++j) {
    const auto value = static_cast<int8_t>(row[j] ^ flip);
    to[j * tile_.depth] = value;
    columnSums_[j] += static_cast<uint32_t>(value);
  }
}

void IntegerBlock::addMatmuls(int64_t rows, int64_t k) {
  const auto add = [&](IntegerTile::Rows some, int64_t i) {
    some(k, rows_.data() + i * kDepth, kDepth, columns_.data(), sums_.data() + i * kIntegerColumns);
  };
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    add(tile_.four, i);
  for (; i < rows; ++i)
    add(tile_.one, i);
}

int32_t IntegerBlock::sum(int64_t i, int64_t j, int64_t zeroA, int64_t zeroB) const {
  const auto a = static_cast<uint32_t>(shifted(zeroA, a_.type)),
             b = static_cast<uint32_t>(shifted(zeroB, typeB_));
  return static_cast<int32_t>(sums_[i * kIntegerColumns + j] - a * columnSums_[j] - b * rowSums_[i] +
                              static_cast<uint32_t>(k_) * a * b);
}

} // namespace kedge::rt::cpu
