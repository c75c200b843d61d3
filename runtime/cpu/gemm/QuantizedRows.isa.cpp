// Compiled for each instruction set.
#include "runtime/cpu/gemm/QuantizedRows.h"
#include "runtime/cpu/isa/EachIsa.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {
namespace {

inline float valueOf(const float *table, const uint8_t *codes, int64_t element) {
  const uint8_t byte = codes[element / 2];
  return table[element % 2 ? byte & 15 : byte >> 4];
}

constexpr int kLanes = 16;

/// From an even element on.
#if defined(__AVX512F__)
inline void sixteen(const float *table, const uint8_t *codes, float scale, float *to) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(codes)), low = _mm_set1_epi8(15);
  const __m128i nibbles =
      _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), low), _mm_and_si128(bytes, low));
  const __m512 found = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(nibbles), _mm512_loadu_ps(table));
  _mm512_storeu_ps(to, _mm512_mul_ps(found, _mm512_set1_ps(scale)));
}
#else
inline void sixteen(const float *table, const uint8_t *codes, float scale, float *to) {
  for (int lane = 0; lane < kLanes; ++lane)
    to[lane] = valueOf(table, codes, lane) * scale;
}
#endif

void fourBits(const float *table, const uint8_t *codes, const float *scales, int blockBits, int64_t first,
              int64_t count, float *to) {
  const int64_t block = int64_t(1) << blockBits, end = first + count;
  for (int64_t at = first; at < end;) {
    const int64_t blockEnd = (at & -block) + block, stop = blockEnd < end ? blockEnd : end;
    const float scale = scales[at >> blockBits];
    if (at % 2)
      *to++ = valueOf(table, codes, at++) * scale;
    for (; at + kLanes <= stop; at += kLanes, to += kLanes)
      sixteen(table, codes + at / 2, scale, to);
    for (; at < stop; ++at)
      *to++ = valueOf(table, codes, at) * scale;
  }
}

void eightBits(const int8_t *codes, const float *scales, int64_t scaleStep, int64_t count, float *to) {
  if (scaleStep)
    for (int64_t at = 0; at < count; ++at)
      to[at] = static_cast<float>(codes[at]) * scales[at];
  else
    for (int64_t at = 0; at < count; ++at)
      to[at] = static_cast<float>(codes[at]) * scales[0];
}

} // namespace

QuantizedRows KEDGE_FOR_ISA(quantizedRows, )() { return {fourBits, eightBits}; }

} // namespace kedge::rt::cpu
