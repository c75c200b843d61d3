// Packs panels of a weight in few bits. Codes are unpacked while they are packed, so no whole copy of the
// weight is made.
#pragma once
#include "runtime/calls/QuantizedOperand.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/gemm/QuantizedRows.h"
#include <bit>

namespace kedge::rt::cpu {
using namespace calls;

/// The second operand of a product as stored: [columns, k] if `transposed`, else [k, columns].
struct QuantizedMatrix {
  const QuantizedOperand &operand;
  bool transposed;
  const void *codes;
  const float *scales;
  const void *zeroPoints = nullptr;
  const QuantizedRows &rows = quantizedRows();
  const float *table = fourBitTable(operand.format).data();
  int blockBits = std::countr_zero(static_cast<uint64_t>(operand.block));

  BlockedMatrix blocked() const {
    BlockedMatrix matrix = operand.blocked;
    matrix.codes = static_cast<const uint8_t *>(codes);
    matrix.zeroPoints = static_cast<const uint8_t *>(zeroPoints);
    matrix.scales = scales;
    return matrix;
  }

  /// Unpacks `count` values of stored row `row`, from `column` on.
  void unpack(int64_t row, int64_t column, int64_t count, float *to) const {
    if (isOfOnnx(operand.format))
      return blocked().unpack(row, column, count, to);
    const int64_t first = row * operand.whole.shape[1] + column;
    if (operand.format == QuantizedFormat::Int8)
      rows.eight(static_cast<const int8_t *>(codes) + first, scales + (operand.axis ? column : row),
                 operand.axis ? 1 : 0, count, to);
    else
      rows.four(table, static_cast<const uint8_t *>(codes), scales, blockBits, first, count, to);
  }
};

/// A panel for the tile of E, with values rounded to S.
template <typename E, typename S>
void packQuantized(E *dst, int64_t width, const QuantizedMatrix &matrix, int64_t column, int64_t lanes,
                   int64_t k0, int64_t k) {
  constexpr int64_t kDepth = 64;
  if constexpr (std::is_same_v<E, float> && std::is_same_v<S, float>)
    if (!matrix.transposed && lanes == width) {
      for (int64_t p = 0; p < k; ++p)
        matrix.unpack(k0 + p, column, lanes, dst + p * width);
      return;
    }
  alignas(64) float wide[kMostLanes * kDepth];
  for (int64_t p = 0; p < k; p += kDepth) {
    const int64_t depth = std::min(kDepth, k - p);
    // A row of `wide` is a row as stored.
    const int64_t rows = matrix.transposed ? lanes : depth, length = matrix.transposed ? depth : lanes;
    const int64_t pitch = matrix.transposed ? kDepth : kMostLanes;
    for (int64_t row = 0; row < rows; ++row)
      if (matrix.transposed)
        matrix.unpack(column + row, k0 + p, length, wide + row * pitch);
      else
        matrix.unpack(k0 + p + row, column, length, wide + row * pitch);
    const auto pack = [&](auto *values) {
      Strided<std::remove_pointer_t<decltype(values)>> block{values, pitch, 1};
      packB(dst + p * width, width, matrix.transposed ? block : block.transposed(), lanes, depth);
    };
    if constexpr (kIsHalf<S>) {
      S narrow[kMostLanes * kDepth];
      convertRows(rows, length, wide, pitch, narrow, pitch);
      pack(narrow);
    } else {
      pack(wide);
    }
  }
}

/// Like gemm(), with B in few bits. m, n and k must not be 0.
template <typename E, typename S, typename Sum = typename TileSum<E>::type>
void gemmOfQuantized(const GemmPlan &plan, Strided<S> a, const QuantizedMatrix &b, Sum *c, int64_t ldc,
                     GemmStart start, const Sum *bias, const GemmFinish<Sum> *finish, void *workspace) {
  auto rows = [&](E *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
    packA(dst, width, a.at(row, k0), rows, length);
  };
  auto columns = [&](E *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
    packQuantized<E, S>(dst, width, b, column, columns, k0, length);
  };
  gemmBlocked<E>(plan, rows, columns, c, ldc, start, bias, finish, workspace);
}

} // namespace kedge::rt::cpu
