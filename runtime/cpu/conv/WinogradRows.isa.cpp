// Compiled for each instruction set.
#include "runtime/cpu/conv/WinogradRows.h"
#include "runtime/cpu/isa/EachIsa.h"
#include "runtime/cpu/isa/Vectors.inc"

namespace kedge::rt::cpu {
namespace {

template <int Bytes> void along(const float *line, int64_t tiles, float *to, int64_t plane) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  for (int64_t t = 0; t < tiles; t += W::L) {
    const float *from = line + 2 * t;
    const V low = W::load(from), high = W::load(from + W::L), nextLow = W::load(from + 2),
            nextHigh = W::load(from + 2 + W::L);
    const V first = everySecond<float, Bytes, 0>(low, high), second = everySecond<float, Bytes, 1>(low, high);
    const V third = everySecond<float, Bytes, 0>(nextLow, nextHigh),
            fourth = everySecond<float, Bytes, 1>(nextLow, nextHigh);
    W::store(to + t, first - third);
    W::store(to + plane + t, second + third);
    W::store(to + 2 * plane + t, third - second);
    W::store(to + 3 * plane + t, second - fourth);
  }
}

template <int Bytes>
void down(const float *even, const float *odd, int64_t plane, int64_t width, int64_t tiles, float *to,
          int64_t matrix) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  for (int64_t t = 0; t < tiles; t += W::L)
    for (int j = 0; j < 4; ++j) {
      const float *upper = even + j * plane + t, *lower = odd + j * plane + t;
      const V first = W::load(upper), second = W::load(lower), third = W::load(upper + width),
              fourth = W::load(lower + width);
      float *at = to + j * matrix + t;
      W::store(at, first - third);
      W::store(at + 4 * matrix, second + third);
      W::store(at + 8 * matrix, third - second);
      W::store(at + 12 * matrix, second - fourth);
    }
}

template <int Bytes>
void results(const float *sums, int64_t matrix, int64_t tiles, float bias, float *upper, float *lower) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  for (int64_t t = 0; t < tiles; t += W::L) {
    V above[4], below[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const float *from = sums + j * matrix + t;
      const V second = W::load(from + 4 * matrix), third = W::load(from + 8 * matrix);
      above[j] = W::load(from) + (second + third);
      below[j] = (second - third) - W::load(from + 12 * matrix);
    }
    const V add = V{} + bias;
    const V upperEven = above[0] + (above[1] + above[2]) + add,
            upperOdd = (above[1] - above[2]) - above[3] + add;
    const V lowerEven = below[0] + (below[1] + below[2]) + add,
            lowerOdd = (below[1] - below[2]) - below[3] + add;
    W::store(upper + 2 * t, inTurns<float, Bytes, 0>(upperEven, upperOdd));
    W::store(upper + 2 * t + W::L, inTurns<float, Bytes, 1>(upperEven, upperOdd));
    W::store(lower + 2 * t, inTurns<float, Bytes, 0>(lowerEven, lowerOdd));
    W::store(lower + 2 * t + W::L, inTurns<float, Bytes, 1>(lowerEven, lowerOdd));
  }
}

/// Rows (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2 and (0, 0, 1) of G times three values.
template <typename V> inline void expand(V first, V second, V third, V *to) {
  const V ends = (first + third) * 0.5f, middle = second * 0.5f;
  to[0] = first, to[1] = ends + middle, to[2] = ends - middle, to[3] = third;
}

/// The last vector of a row is stored over the beginning of the next rows, which come later.
template <int Bytes>
void filters(const float *taps, int64_t width, bool flips, int64_t depth, float *to, int64_t matrix) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  const int64_t step = flips ? -width : width;
  for (int64_t d = 0; d < depth; ++d)
    for (int64_t lane = 0; lane < width; lane += W::L) {
      const float *from = taps + (9 * d + (flips ? 8 : 0)) * width + lane;
      V columns[3][4];
#pragma GCC unroll 3
      for (int w = 0; w < 3; ++w)
        expand(W::load(from + w * step), W::load(from + (3 + w) * step), W::load(from + (6 + w) * step),
               columns[w]);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        V row[4];
        expand(columns[0][i], columns[1][i], columns[2][i], row);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          W::store(to + (4 * i + j) * matrix + d * width + lane, row[j]);
      }
    }
}

/// Rows of B^T times four values.
template <typename V> inline void difference(V first, V second, V third, V fourth, V *to) {
  to[0] = first - third, to[1] = second + third, to[2] = third - second, to[3] = second - fourth;
}

template <int Bytes>
void source(const float *rows, int64_t pitch, int64_t tiles, int64_t lanes, float *to, int64_t matrix) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  for (int64_t t = 0; t < tiles; ++t)
    for (int64_t lane = 0; lane < lanes; lane += W::L) {
      V down[4][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const float *from = rows + (2 * t + j) * lanes + lane;
        difference(W::load(from), W::load(from + pitch), W::load(from + 2 * pitch), W::load(from + 3 * pitch),
                   down[j]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        V row[4];
        difference(down[0][i], down[1][i], down[2][i], down[3][i], row);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          W::store(to + (4 * i + j) * matrix + t * lanes + lane, row[j]);
      }
    }
}

/// Rows (1, 0), (1, 1), (1, -1) and (0, -1) of A times two values.
template <typename V> inline void broadcast(V first, V second, V *to) {
  to[0] = first, to[1] = first + second, to[2] = first - second, to[3] = -second;
}

template <int Bytes>
void gradient(const float *rows, int64_t pitch, int64_t tiles, int64_t lanes, float *to, int64_t matrix) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  for (int64_t t = 0; t < tiles; ++t)
    for (int64_t lane = 0; lane < lanes; lane += W::L) {
      const float *from = rows + 2 * t * lanes + lane;
      V left[4], right[4];
      broadcast(W::load(from), W::load(from + pitch), left);
      broadcast(W::load(from + lanes), W::load(from + lanes + pitch), right);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        V row[4];
        broadcast(left[i], right[i], row);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          W::store(to + (4 * i + j) * matrix + t * lanes + lane, row[j]);
      }
    }
}

/// Rows (1, 1/2, 1/2, 0), (0, 1/2, -1/2, 0) and (0, 1/2, 1/2, 1) of G^T times four values.
template <typename V> inline void gather(V first, V second, V third, V fourth, V *to) {
  const V half = (second + third) * 0.5f;
  to[0] = first + half, to[1] = (second - third) * 0.5f, to[2] = half + fourth;
}

template <int Bytes>
void taps(const float *sums, int64_t matrix, int64_t part, int64_t parts, int64_t lanes, float *to,
          int64_t pitch) {
  using W = Wide<float, Bytes>;
  using V = typename W::V;
  for (int64_t lane = 0; lane < lanes; lane += W::L) {
    V whole[kWinogradProducts];
    for (int k = 0; k < kWinogradProducts; ++k) {
      const float *from = sums + k * matrix + lane;
      V sum = W::load(from);
      for (int64_t p = 1; p < parts; ++p)
        sum += W::load(from + p * part);
      whole[k] = sum;
    }
    V down[4][3];
    for (int j = 0; j < 4; ++j)
      gather(whole[j], whole[4 + j], whole[8 + j], whole[12 + j], down[j]);
    for (int h = 0; h < 3; ++h) {
      V row[3];
      gather(down[0][h], down[1][h], down[2][h], down[3][h], row);
      for (int w = 0; w < 3; ++w)
        W::store(to + (3 * h + w) * pitch + lane, row[w]);
    }
  }
}

template <int Bytes> WinogradRows makeWinograd() {
  return {along<Bytes>, down<Bytes>, results<Bytes>, filters<Bytes>};
}
template <int Bytes> WinogradLanes makeWinogradLanes() {
  return {source<Bytes>, gradient<Bytes>, taps<Bytes>};
}

} // namespace

WinogradRows KEDGE_FOR_ISA(winogradRows, )() { return makeWinograd<kIsaBytes>(); }
WinogradLanes KEDGE_FOR_ISA(winogradLanes, )() { return makeWinogradLanes<kIsaBytes>(); }

} // namespace kedge::rt::cpu
