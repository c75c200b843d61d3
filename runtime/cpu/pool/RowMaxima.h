// The largest elements of windows, for a row of results at once: every tap of the row is one loop over
// neighbours (PoolRows), without the branches that the walk of a window by itself takes at random.
#pragma once
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/gemm/GemmPack.h"
#include "runtime/cpu/pool/PoolRows.h"
#include "runtime/cpu/pool/PoolWindows.h"
#include <limits>

namespace kedge::rt::cpu {
using namespace calls;

template <typename S> class RowMaxima {
public:
  using T = Compute<S>;
  using Index = PoolIndex<T>;

  /// A thread's memory: a row's largest elements, their places in the plane (-1: empty window), a widened row
  /// of the image. Beside it the machine's inner loops, so that rows need not look for them.
  struct Line {
    T *top;
    Index *best;
    T *wide;
    const PoolRows<T> *inner;
  };

  explicit RowMaxima(const PoolShape &shape) : windows_(shape) {
    const PoolShape &p = windows_.p;
    for (int64_t tap = 0; tap < p.kernel[2]; ++tap)
      addTap(tap);
    for (const Windows::Range &w : windows_.axes[2])
      firstPlaces_.push_back(static_cast<Index>(w.low < w.high ? w.start + w.low * p.dilation[2] : -1));
  }

  size_t scratchBytes() const {
    return topBytes() + bestBytes() + (kWidens ? sizeof(T) * windows_.p.in[2] : 0);
  }
  Line lineIn(char *memory) const {
    return {reinterpret_cast<T *>(memory), reinterpret_cast<Index *>(memory + topBytes()),
            reinterpret_cast<T *>(memory + topBytes() + bestBytes()), &poolRows<T>()};
  }

  /// f(number of the first result, windows along depth, along height) for the rows of a plane, in order.
  template <typename F> void forRows(F &&f) const {
    int64_t first = 0;
    for (const Windows::Range &d : windows_.axes[0])
      for (const Windows::Range &h : windows_.axes[1]) {
        f(first, d, h);
        first += windows_.p.out[2];
      }
  }

  /// Of an empty window: the lowest value.
  void findValues(const S *plane, const Windows::Range &d, const Windows::Range &h, const Line &line) const {
    std::fill_n(line.top, windows_.p.out[2], -std::numeric_limits<T>::infinity());
    forImageRows(plane, d, h, line, [&](const PoolTaps<T> &taps) { line.inner->values(taps, line.top); });
  }

  void findPlaces(const S *plane, const Windows::Range &d, const Windows::Range &h, const Line &line) const {
    std::fill_n(line.top, windows_.p.out[2], -std::numeric_limits<T>::infinity());
    startPlaces(d, h, line.best);
    forImageRows(plane, d, h, line,
                 [&](const PoolTaps<T> &taps) { line.inner->places(taps, line.top, line.best); });
  }

private:
  static constexpr bool kWidens = !std::is_same_v<S, T>;

  size_t topBytes() const { return alignedBytes(sizeof(T) * windows_.p.out[2]); }
  size_t bestBytes() const { return alignedBytes(sizeof(Index) * windows_.p.out[2]); }

  /// Windows begin further right from result to result, so those with the tap inside the image are
  /// neighbours.
  void addTap(int64_t tap) {
    const PoolShape &p = windows_.p;
    PoolTap found{0, 0, 0};
    for (int64_t o = 0; o < p.out[2]; ++o)
      if (const Windows::Range &w = windows_.axes[2][o]; w.low <= tap && tap < w.high)
        if (found.count++ == 0)
          found.first = o, found.at = w.start + tap * p.dilation[2];
    if (found.count > 0)
      taps_.push_back(found);
  }

  int64_t imageRow(const Windows::Range &d, int64_t depth, const Windows::Range &h, int64_t height) const {
    const PoolShape &p = windows_.p;
    return ((d.start + depth * p.dilation[0]) * p.in[1] + h.start + height * p.dilation[1]) * p.in[2];
  }

  /// The first tap inside the image is the largest element until another one is larger: a window may hold
  /// nothing but -inf.
  void startPlaces(const Windows::Range &d, const Windows::Range &h, Index *best) const {
    const bool empty = d.low >= d.high || h.low >= h.high;
    const Index row = static_cast<Index>(empty ? 0 : imageRow(d, d.low, h, h.low));
    for (int64_t o = 0; o < windows_.p.out[2]; ++o)
      best[o] = empty || firstPlaces_[o] < 0 ? -1 : row + firstPlaces_[o];
  }

  template <typename F>
  void forImageRows(const S *plane, const Windows::Range &d, const Windows::Range &h, const Line &line,
                    F &&f) const {
    const PoolShape &p = windows_.p;
    for (int64_t depth = d.low; depth < d.high; ++depth)
      for (int64_t height = h.low; height < h.high; ++height) {
        const int64_t place = imageRow(d, depth, h, height);
        f(PoolTaps<T>{rowOf(plane + place, line), static_cast<Index>(place), taps_.data(),
                      static_cast<int64_t>(taps_.size()), p.stride[2]});
      }
  }

  const T *rowOf(const S *row, const Line &line) const {
    if constexpr (kWidens) {
      convertRows(1, windows_.p.in[2], row, 0, line.wide, 0);
      return line.wide;
    } else {
      return row;
    }
  }

  Windows windows_;
  std::vector<PoolTap> taps_; ///< of a row of the image; those that are outside for all results are left out
  std::vector<Index> firstPlaces_; ///< in a row of the image, of each result's first tap inside; -1: none is
};

} // namespace kedge::rt::cpu
