// Compiled for each instruction set.
#include "runtime/cpu/attention/AttentionRows.h"
#include "runtime/cpu/attention/DropoutLine.inc"
#include "runtime/cpu/isa/EachIsa.h"
#include "runtime/cpu/isa/Vectors.inc"
#if defined(__AVX512DQ__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {
namespace {

constexpr int kVectors = kTileVectors; // of a row

template <int Bytes> using Floats = typename Wide<float, Bytes>::V;
template <int Bytes> using Ints = typename Wide<int32_t, Bytes>::V;
template <int Bytes> using Doubles = typename Wide<double, Bytes>::V;

/// A polynomial for 2^f, |f| <= 0.5, with 2^0 = 1: its largest relative error is 2e-9, its rounding's 8e-8.
template <typename V> inline V exp2OfFraction(V f) {
  const V zero = {};
  V p = zero + 1.5353361960e-4f;
  p = p * f + 1.3398875017e-3f;
  p = p * f + 9.6184369177e-3f;
  p = p * f + 5.5503323674e-2f;
  p = p * f + 2.4022647738e-1f;
  p = p * f + 6.9314718246e-1f;
  return p * f + 1.0f;
}

constexpr float kLowestExponent = -126, kHighestExponent = 127;

/// 2^x, below 1.2 ulp; 0 below 2^-126.
template <int Bytes> inline Floats<Bytes> exp2Of(Floats<Bytes> x) {
  using V = Floats<Bytes>;
  using I = Ints<Bytes>;
  const V zero = {}, magic = zero + 12582912.0f;
  V low = zero + kLowestExponent, high = zero + kHighestExponent;
  auto tiny = x < low;
  V clamped = tiny ? low : x;
  clamped = clamped > high ? high : clamped;
  V shifted = clamped + magic;
  I exponent = (reinterpret_cast<I>(shifted) - reinterpret_cast<I>(magic)) << 23;
  V p = exp2OfFraction(clamped - (shifted - magic));
  V result = reinterpret_cast<V>(reinterpret_cast<I>(p) + exponent);
  return tiny ? zero : result;
}

#if defined(__AVX512DQ__)
/// With instructions that take the fraction and multiply by powers of two, also where x is infinite.
template <> inline Floats<64> exp2Of<64>(Floats<64> x) {
  constexpr int kToNearest = 8; // no exception for inexact results
  const __m512 value = reinterpret_cast<__m512>(x), fraction = _mm512_reduce_ps(value, kToNearest);
  const __mmask16 normal = _mm512_cmp_ps_mask(value, _mm512_set1_ps(kLowestExponent), _CMP_NLT_UQ);
  const __m512 power = reinterpret_cast<__m512>(exp2OfFraction(reinterpret_cast<Floats<64>>(fraction)));
  return reinterpret_cast<Floats<64>>(_mm512_maskz_scalef_ps(normal, power, _mm512_sub_ps(value, fraction)));
}
#endif

template <int Bytes> inline Doubles<Bytes> exp2Of(Doubles<Bytes> x) {
  Doubles<Bytes> result;
  for (int i = 0; i < Wide<double, Bytes>::L; ++i)
    result[i] = __builtin_exp2(x[i]);
  return result;
}

/// Of a column of vectors and `start`, in four chains.
template <typename V> inline V largestOf(int64_t rows, const V *column, V start) {
  V top[4] = {start, start, start, start};
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k)
      top[k] = column[(r + k) * kVectors] > top[k] ? column[(r + k) * kVectors] : top[k];
  for (; r < rows; ++r)
    top[0] = column[r * kVectors] > top[0] ? column[r * kVectors] : top[0];
  top[0] = top[1] > top[0] ? top[1] : top[0];
  top[2] = top[3] > top[2] ? top[3] : top[2];
  return top[2] > top[0] ? top[2] : top[0];
}

template <typename T, int Bytes> void forwardRows(int64_t rows, T *scores, T *maximum, T *sum, T *rescale) {
  using V = typename Wide<T, Bytes>::V;
  constexpr int L = Wide<T, Bytes>::L;
  for (int part = 0; part < kVectors; ++part) {
    V *column = reinterpret_cast<V *>(scores + part * L);
    V &oldMaximum = *reinterpret_cast<V *>(maximum + part * L),
      &total = *reinterpret_cast<V *>(sum + part * L);
    V newMaximum = largestOf<V>(rows, column, oldMaximum);
    // All scores -inf: any finite reference gives weights of 0.
    V reference = newMaximum < V{} - static_cast<T>(1e37) ? V{} : newMaximum;
    V factor = exp2Of<Bytes>(oldMaximum - reference);
    *reinterpret_cast<V *>(rescale + part * L) = factor;
    V sums[4] = {};
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        V p = exp2Of<Bytes>(column[(r + k) * kVectors] - reference);
        column[(r + k) * kVectors] = p;
        sums[k] += p;
      }
    for (; r < rows; ++r) {
      V p = exp2Of<Bytes>(column[r * kVectors] - reference);
      column[r * kVectors] = p;
      sums[0] += p;
    }
    total = total * factor + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    oldMaximum = newMaximum;
  }
}

template <typename T, int Bytes> void scaleColumns(int64_t rows, T *x, const T *factor) {
  using V = typename Wide<T, Bytes>::V;
  V *values = reinterpret_cast<V *>(x);
  const V *factors = reinterpret_cast<const V *>(factor);
  for (int64_t r = 0; r < rows; ++r)
    for (int part = 0; part < kVectors; ++part)
      values[r * kVectors + part] *= factors[part];
}

template <typename T, int Bytes> void scaleAll(int64_t count, T *x, T factor) {
  using W = Wide<T, Bytes>;
  typename W::V *values = reinterpret_cast<typename W::V *>(x);
  for (int64_t i = 0; i < count / W::L; ++i)
    values[i] *= factor;
}

template <typename T, int Bytes> T dotOf(const T *a, const T *b, int64_t count) {
  using W = Wide<T, Bytes>;
  constexpr int kChains = 16, kParts = kChains / W::L;
  typename W::V sums[kParts] = {};
  int64_t i = 0;
  for (; i + kChains <= count; i += kChains)
    for (int part = 0; part < kParts; ++part)
      sums[part] += W::load(a + i + part * W::L) * W::load(b + i + part * W::L);
  alignas(64) T each[kChains];
  for (int part = 0; part < kParts; ++part)
    W::store(each + part * W::L, sums[part]);
  for (int chain = 0; i < count; ++i, ++chain)
    each[chain] += a[i] * b[i];
  for (int half = kChains / 2; half > 0; half /= 2)
    for (int chain = 0; chain < half; ++chain)
      each[chain] += each[chain + half];
  return each[0];
}

template <typename T, int Bytes>
void backwardRows(int64_t rows, T *scores, T *gradients, const T *lse, const T *delta, T scale) {
  using V = typename Wide<T, Bytes>::V;
  V *values = reinterpret_cast<V *>(scores), *grads = reinterpret_cast<V *>(gradients);
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int part = 0; part < kVectors; ++part) {
      V p = exp2Of<Bytes>(values[r * kVectors + part] - lse[r]);
      values[r * kVectors + part] = p;
      grads[r * kVectors + part] = p * (grads[r * kVectors + part] - delta[r]) * scale;
    }
}

template <typename T, int Bytes> void capRows(int64_t rows, T *scores, T *factor, T cap) {
  using V = typename Wide<T, Bytes>::V;
  const T log2e = static_cast<T>(1.4426950408889634);
  V *values = reinterpret_cast<V *>(scores), *factors = reinterpret_cast<V *>(factor);
  for (int64_t r = 0; r < rows * kVectors; ++r) {
    // tanh(y) = sign(y) (1 - e) / (1 + e), e = exp(-2 |y|)
    V y = values[r] * (1 / cap), magnitude = y < V{} ? -y : y;
    V e = exp2Of<Bytes>(magnitude * (-2 * log2e));
    V t = (1 - e) / (1 + e);
    t = y < V{} ? -t : t;
    values[r] = t * (cap * log2e);
    if (factor)
      factors[r] = 4 * e / ((1 + e) * (1 + e));
  }
}

template <typename T, int Bytes> AttentionRows<T> makeRows() {
  return {forwardRows<T, Bytes>,  scaleColumns<T, Bytes>, scaleAll<T, Bytes>, dotOf<T, Bytes>,
          backwardRows<T, Bytes>, capRows<T, Bytes>,      dropLine<T>};
}

} // namespace

AttentionRows<float> KEDGE_FOR_ISA(attentionRows, F32)() { return makeRows<float, kIsaBytes>(); }
AttentionRows<double> KEDGE_FOR_ISA(attentionRows, F64)() { return makeRows<double, kIsaBytes>(); }

} // namespace kedge::rt::cpu
