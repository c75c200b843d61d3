// Depthwise convolutions and their gradients first copy what they read: a plane, or a band of its rows,
// goes to the thread's scratch memory, with its padding and in the type to compute in. For strides it
// is split into one plane for each residue. Then neighbouring results read neighbours, whatever stride,
// dilation, pads and type are, so the inner loops (StencilRows) need not handle these.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/conv/StencilRows.h"
#include "runtime/cpu/gemm/GemmPack.h"

namespace kedge::rt::cpu::depthwise {
using namespace calls;

/// A division takes as long as several vectors of a small plane.
inline int64_t floorDiv(int64_t a, int64_t b) { return b == 1 ? a : a >= 0 ? a / b : -((b - 1 - a) / b); }
inline int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

/// Taps along one dimension: tap t reads the plane of residue residues[phase[t]], at distance `shift[t]`.
struct TapAxis {
  std::vector<int64_t> residues, phase, shift;
  int64_t reach = 0; ///< the largest shift

  TapAxis(int64_t kernel, int64_t stride, int64_t dilation) {
    for (int64_t t = 0; t < kernel; ++t) {
      const int64_t residue = t * dilation % stride;
      const auto found = std::find(residues.begin(), residues.end(), residue);
      phase.push_back(found - residues.begin());
      if (found == residues.end())
        residues.push_back(residue);
      shift.push_back(t * dilation / stride);
      reach = std::max(reach, shift.back());
    }
  }
  int64_t phases() const { return static_cast<int64_t>(residues.size()); }
};

inline int64_t volume(const Space &s) { return s[0] * s[1] * s[2]; }
inline int64_t offset(const Space &size, int64_t d, int64_t h, int64_t w) {
  return (d * size[1] + h) * size[2] + w;
}

/// Which of the `count` places first + j * step are in [0, size).
struct Inside {
  int64_t begin, end;
  Inside(int64_t size, int64_t first, int64_t step, int64_t count)
      : begin(std::clamp<int64_t>(ceilDiv(-first, step), 0, count)),
        end(std::clamp<int64_t>(ceilDiv(size - first, step), begin, count)) {}
};

template <typename T> void zero(T *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) // margins of rows are short, so no call
    dst[i] = T(0);
}

/// dst[r * dstPitch + j] = src[r * srcPitch + j * step].
template <typename S, typename T>
void copyEach(int64_t rows, int64_t width, const S *src, int64_t srcPitch, int64_t step, T *dst,
              int64_t dstPitch) {
  if constexpr (std::is_same_v<S, T>)
    if (step <= 2)
      return (step == 1 ? stencilRows<T>().copy : stencilRows<T>().everySecond)(rows, width, src, srcPitch,
                                                                                dst, dstPitch);
  if (step == 1)
    return convertRows(rows, width, src, srcPitch, dst, dstPitch);
  for (int64_t r = 0; r < rows; ++r, src += srcPitch, dst += dstPitch)
    for (int64_t j = 0; j < width; ++j)
      dst[j] = static_cast<T>(src[j * step]);
}

/// Which of some places are inside a plane, for each axis.
struct InsidePlane {
  Inside d, h, w;
  InsidePlane(const Space &size, const Space &first, const Space &step, const Space &count)
      : d(size[0], first[0], step[0], count[0]), h(size[1], first[1], step[1], count[1]),
        w(size[2], first[2], step[2], count[2]) {}
};

/// Zeros for all places that are not inside.
template <typename T> void stageMargins(const InsidePlane &in, const Space &count, T *dst) {
  const int64_t plane = count[1] * count[2];
  std::fill_n(dst, in.d.begin * plane, T(0));
  for (int64_t d = in.d.begin; d < in.d.end; ++d) {
    T *to = dst + d * plane;
    std::fill_n(to, in.h.begin * count[2], T(0));
    for (int64_t h = in.h.begin; h < in.h.end; ++h) {
      zero(to + h * count[2], in.w.begin);
      zero(to + h * count[2] + in.w.end, count[2] - in.w.end);
    }
    std::fill_n(to + in.h.end * count[2], (count[1] - in.h.end) * count[2], T(0));
  }
  std::fill_n(dst + in.d.end * plane, (count[0] - in.d.end) * plane, T(0));
}

/// Sets the `count` elements of dst to the places first + j * step of a plane; 0 outside of it, which dst has
/// unless it is `fresh`.
template <typename S, typename T>
void stagePlane(const S *src, const Space &size, const Space &first, const Space &step, const Space &count,
                bool fresh, T *dst) {
  const InsidePlane in(size, first, step, count);
  if (fresh)
    stageMargins(in, count, dst);
  if (in.w.end == in.w.begin)
    return;
  for (int64_t d = in.d.begin; d < in.d.end; ++d)
    copyEach(in.h.end - in.h.begin, in.w.end - in.w.begin,
             src + offset(size, first[0] + d * step[0], first[1] + in.h.begin * step[1],
                          first[2] + in.w.begin * step[2]),
             step[1] * size[2], step[2], dst + offset(count, d, in.h.begin, in.w.begin), count[2]);
}

/// Whether the gaps between rows are worth computing, so that all rows are one.
inline bool isOneRow(int64_t width, int64_t pitch) {
  constexpr int64_t kShort = 64;
  return width <= kShort && pitch <= (width + kStencilLanes - 1) / kStencilLanes * kStencilLanes;
}

/// The common part of forward, gradient of the image and gradient of the filter. S: element type.
template <typename S> class Depthwise : public LibraryKernel {
protected:
  using T = Compute<S>;

  Depthwise(const ConvShape &c, int threads)
      : c_(c), threads_(threads), rows_(stencilRows<T>()), axes_{axisOf(0), axisOf(1), axisOf(2)},
        reach_{axes_[0].reach, axes_[1].reach, axes_[2].reach},
        bandAxis_(c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 ? 1 : 0) {}

  TapAxis axisOf(size_t i) const { return {c_.kernel[i], c_.stride[i], c_.dilation[i]}; }

  /// Number of places along bandAxis_ computed together: what they read fits half of a second-level cache.
  int64_t bandOf(const Space &results, int64_t planes) const {
    constexpr int64_t kStagedBytes = 256 << 10;
    const int64_t line = planes * volume(staged(results)) / std::max<int64_t>(1, staged(results)[bandAxis_]);
    const int64_t lines = kStagedBytes / std::max<int64_t>(1, line * static_cast<int64_t>(sizeof(T)));
    return std::clamp<int64_t>(lines - reach_[bandAxis_], 1, std::max<int64_t>(1, results[bandAxis_]));
  }
  Space banded(Space results, int64_t length) const {
    results[bandAxis_] = length;
    return results;
  }
  Space staged(const Space &results) const {
    return {results[0] + reach_[0], results[1] + reach_[1], results[2] + reach_[2]};
  }

  int64_t phases() const { return axes_[0].phases() * axes_[1].phases() * axes_[2].phases(); }

  /// Copies what results from `begin` on read of the image's plane, one plane for each phase.
  void stageImage(const S *image, const Space &begin, const Space &count, bool fresh, T *dst) const {
    Space first;
    for (int64_t d : axes_[0].residues)
      for (int64_t h : axes_[1].residues)
        for (int64_t w : axes_[2].residues) {
          const Space residue{d, h, w};
          for (size_t i = 0; i < 3; ++i)
            first[i] = begin[i] * c_.stride[i] + residue[i] - c_.pad[i];
          stagePlane(image, c_.in, first, c_.stride, count, fresh, dst);
          dst += volume(count);
        }
  }

  /// Sets `from` to where each tap of the first result is in the output of stageImage.
  void placeTaps(const T *image, const Space &count, const T **from) const {
    const auto &[d, h, w] = axes_;
    for (size_t i = 0; i < d.shift.size(); ++i)
      for (size_t j = 0; j < h.shift.size(); ++j)
        for (size_t k = 0; k < w.shift.size(); ++k) {
          const int64_t plane = (d.phase[i] * h.phases() + h.phase[j]) * w.phases() + w.phase[k];
          *from++ = image + plane * volume(count) + offset(count, d.shift[i], h.shift[j], w.shift[k]);
        }
  }

  /// Calls use(d, taps) for `depth` planes, where `first` are the taps of plane 0.
  template <typename Use>
  void eachPlane(const T *const *first, int64_t count, int64_t depth, int64_t plane, Use use) const {
    if (depth <= 0)
      return;
    use(0, first);
    const T *from[kMostDepthwiseTaps];
    for (int64_t d = 1; d < depth; ++d) {
      for (int64_t t = 0; t < count; ++t)
        from[t] = first[t] + d * plane;
      use(d, from);
    }
  }

  /// Elements of a line that sumRows needs for rows of a plane.
  int64_t lineOf(const Space &results) const {
    const int64_t pitch = results[2] + reach_[2];
    return kIsHalf<S> || isOneRow(results[2], pitch) ? results[1] * pitch : 0;
  }

  /// Sums of the taps for the rows of a plane of results.
  void sumRows(const StencilTaps<T> &taps, const T *weights, T start, T *line, S *to, int64_t toPitch) const {
    if constexpr (!kIsHalf<S>)
      if (!isOneRow(taps.width, taps.pitch))
        return rows_.sums(taps, weights, start, to, toPitch);
    sumLine(taps, weights, start, line);
    copyEach(taps.rows, taps.width, line, taps.pitch, 1, to, toPitch);
  }

  /// The same in rows as far apart as those that are read; what lies between them may be written.
  void sumLine(const StencilTaps<T> &taps, const T *weights, T start, T *line) const {
    if (isOneRow(taps.width, taps.pitch))
      rows_.sums({taps.count, taps.from, 0, 1, (taps.rows - 1) * taps.pitch + taps.width}, weights, start,
                 line, 0);
    else
      rows_.sums(taps, weights, start, line, taps.pitch);
  }

  static void widen(const S *weights, int64_t count, T *wide) { convertRows(1, count, weights, 0, wide, 0); }

  ConvShape c_;
  int threads_;
  const StencilRows<T> &rows_;
  std::array<TapAxis, 3> axes_;
  Space reach_;
  size_t bandAxis_;
};

} // namespace kedge::rt::cpu::depthwise
