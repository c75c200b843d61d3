// Products of f16 in AMX's tile registers, which multiply bf16. A number of f16 is the sum of two of bf16
// (F16Halves), so the four products of halves, whose sums are fp32, add up to what fp32 would give.
#include "runtime/cpu/gemm/GemmTileAmx.h"
#if defined(__AMX_BF16__)
#include "runtime/cpu/gemm/GemmTileAmx.inc"
#endif

namespace kedge::rt::cpu {

namespace {

// As many terms as the fp32 tile sums in a block.
constexpr int64_t kMostK = 512;
constexpr GemmSizes kSizes{.rowBytes = 512 << 10, .regionFlops = 48e6};
constexpr GemmTile<F16Halves> kTile = amxTile<F16Halves>(kMostK, kSizes);

} // namespace

#if defined(__AMX_BF16__)
namespace {

struct Halves {
  __m512i rounded, rest;
};

inline __m512 widened(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

constexpr int kNanOrInfinity = 0x01 | 0x08 | 0x10 | 0x80;
inline __mmask16 notFinite(__m512 values) { return _mm512_fpclass_ps_mask(values, kNanOrInfinity); }

/// What is left of `value`; nothing of an infinity, of which it would be NaN.
inline __m512 restOf(__m512 value, __m512 rounded) {
  return _mm512_maskz_sub_ps(static_cast<__mmask16>(~notFinite(value)), value, rounded);
}

/// The numbers of f16 at `lanes` of 32 at src, side by side.
inline Halves halve(const uint16_t *src, __mmask32 lanes) {
  const __m512i bits = _mm512_maskz_loadu_epi16(lanes, src);
  const __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits)),
               high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
  const auto rounded = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  const __m512 restOfLow = restOf(low, widened(_mm512_castsi512_si256(rounded))),
               restOfHigh = restOf(high, widened(_mm512_extracti64x4_epi64(rounded, 1)));
  return {rounded, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(restOfHigh, restOfLow))};
}

/// Up to 32 rows of up to 32 numbers, each row in 32.
struct HalvedBlock {
  alignas(64) uint16_t half[2][32 * 32];

  void put(int64_t row, const uint16_t *src, int64_t count) {
    const Halves both = halve(src, firstLanes(count));
    _mm512_store_si512(half[0] + 32 * row, both.rounded);
    _mm512_store_si512(half[1] + 32 * row, both.rest);
  }
  void fill(const uint16_t *src, int64_t stride, int64_t rows, int64_t columns) {
    for (int64_t row = 0; row < rows; ++row)
      put(row, src + row * stride, columns);
  }
  /// Of numbers that are not side by side.
  void gather(const uint16_t *src, int64_t rowStride, int64_t columnStride, int64_t rows, int64_t columns) {
    uint16_t numbers[32] = {};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        numbers[column] = src[row * rowStride + column * columnStride];
      put(row, numbers, columns);
    }
  }
};

/// Pack(dst, width, src, rowStride, columnStride, lanes, k) packs 32 steps of k of one half.
template <auto Pack>
void packHalves(F16Halves *dst, int64_t width, const uint16_t *src, int64_t rowStride, int64_t columnStride,
                int64_t lanes, int64_t k) {
  HalvedBlock block;
  const bool lanesFirst = rowStride == 1;
  for (int64_t p = 0; p < k; p += kDepth, dst += kDepth * width) {
    const int64_t length = k - p < kDepth ? k - p : kDepth;
    if (lanesFirst)
      block.fill(src + p * columnStride, columnStride, length, lanes);
    else if (columnStride == 1)
      block.fill(src + p, rowStride, lanes, length);
    else
      block.gather(src + p * columnStride, rowStride, columnStride, lanes, length);
    for (int half = 0; half < 2; ++half)
      Pack(reinterpret_cast<uint16_t *>(dst) + half * kDepth * width, width, block.half[half],
           lanesFirst ? 1 : kDepth, lanesFirst ? kDepth : 1, lanes, length);
  }
}

inline float wide(uint16_t bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }

/// Panels, to sum again what an infinity times a half that is zero made NaN.
struct WholeNumbers {
  const uint16_t *a, *b;
  int64_t k, width; ///< of the panel of A

  WholeNumbers(const F16Halves *a, const F16Halves *b, int64_t k, int rows)
      : a(reinterpret_cast<const uint16_t *>(a)), b(reinterpret_cast<const uint16_t *>(b)), k(k),
        width(rows > kSide ? kColumns : kSide) {}

  void mend(float *sums, int m, int64_t n) const {
    for (int i = 0; i < m; ++i)
      for (int64_t begin = 0; begin < n; begin += kSide)
        if (notFinite(_mm512_load_ps(sums + i * kColumns + begin)))
          for (int64_t j = begin; j < n && j < begin + kSide; ++j)
            sums[i * kColumns + j] = sum(i, j);
  }

private:
  static float whole(const uint16_t *first, int64_t stride) { return wide(first[0]) + wide(first[stride]); }
  float sum(int64_t i, int64_t j) const {
    float sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      const int64_t q = p % kDepth, block = 2 * (p - q);
      const float left = whole(a + block * width + i * kDepth + q, kDepth * width),
                  right =
                      whole(b + block * kColumns + (q - q % 2) * kColumns + 2 * j + q % 2, kDepth * kColumns);
      sum = __builtin_fmaf(left, right, sum);
    }
    return sum;
  }
};

void f16Tile(int64_t k, const F16Halves *a, const F16Halves *b, float *c, int64_t ldc, int m, int n,
             bool accumulate, const float *bias) {
  alignas(64) float aside[kColumns * kColumns];
  const WholeNumbers numbers(a, b, k, m);
  Fetching nothing;
  sumTiles<2>(k, numbers.a, numbers.b, aside, false, m, n, nothing);
  numbers.mend(aside, m, n);
  writeSums(aside, c, ldc, m, n, accumulate, bias);
}

void f16Row(const GemmTileRow<F16Halves> &row) {
  constexpr int64_t kWhole = 192, kPiece = 128;
  alignas(64) float sums[kTile.mostInRow][kColumns * kColumns];
  sumRow<2>(row, sums, pieceOf(row.k, kWhole, kPiece), [&](float *mine, int64_t column) {
    const int64_t n = row.columns - column < kColumns ? row.columns - column : kColumns;
    WholeNumbers(row.a, row.b + column * row.k, row.k, row.rows).mend(mine, row.rows, n);
    writeSums(mine, row.c + column, row.ldc, row.rows, n, row.accumulate,
              row.bias ? row.bias + column : nullptr);
  });
}

constexpr GemmTile<F16Halves> withFunctions() {
  GemmTile<F16Halves> tile = kTile;
  tile.run = f16Tile;
  tile.packA = packHalves<packRuns>, tile.packB = packHalves<packPairs<kDepth>>;
  tile.runRow = f16Row;
  tile.enter = setRegistersUp, tile.leave = giveRegistersBack;
  return tile;
}

} // namespace

constinit const GemmTile<F16Halves> kGemmTileAmxF16 = withFunctions();
#else
constinit const GemmTile<F16Halves> kGemmTileAmxF16 = kTile;
#endif

} // namespace kedge::rt::cpu
