// Depthwise convolutions and their gradients first copy what they read: a plane, or a band of its rows,
// goes to the thread's scratch memory, with its padding and in the type to compute in. For strides it
// is split into one plane for each residue. Then neighbouring results read neighbours, whatever stride,
// dilation, pads and type are, so the inner loops (StencilRows) need not handle these.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/GemmPack.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/StencilRows.h"

namespace kedge::rt::cpu::depthwise {

inline int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
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
inline int64_t offset(const Space &size, int64_t d, int64_t h, int64_t w) { return (d * size[1] + h) * size[2] + w; }

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

/// dst[j] = src[j * step].
template <typename S, typename T> void copyEach(const S *src, int64_t step, int64_t count, T *dst) {
  if (step == 1)
    return convertRows(1, count, src, 0, dst, 0);
  if (step == 2) {
    for (int64_t j = 0; j < count; ++j)
      dst[j] = static_cast<T>(src[2 * j]);
    return;
  }
  for (int64_t j = 0; j < count; ++j)
    dst[j] = static_cast<T>(src[j * step]);
}

/// Sets the `count` elements of dst to the places first + j * step of a plane; 0 outside of it.
template <typename S, typename T>
void stagePlane(const S *src, const Space &size, const Space &first, const Space &step, const Space &count, T *dst) {
  const Inside ds(size[0], first[0], step[0], count[0]), hs(size[1], first[1], step[1], count[1]),
      ws(size[2], first[2], step[2], count[2]);
  const int64_t plane = count[1] * count[2], width = ws.end - ws.begin, behind = count[2] - ws.end;
  std::fill_n(dst, ds.begin * plane, T(0));
  for (int64_t d = ds.begin; d < ds.end; ++d) {
    T *to = dst + d * plane;
    std::fill_n(to, hs.begin * count[2], T(0));
    to += hs.begin * count[2];
    for (int64_t h = hs.begin; h < hs.end; ++h, to += count[2]) {
      zero(to, ws.begin);
      if (width > 0)
        copyEach(src + offset(size, first[0] + d * step[0], first[1] + h * step[1], first[2] + ws.begin * step[2]), step[2],
                 width, to + ws.begin);
      zero(to + ws.end, behind);
    }
    std::fill_n(to, (count[1] - hs.end) * count[2], T(0));
  }
  std::fill_n(dst + ds.end * plane, (count[0] - ds.end) * plane, T(0));
}

/// The common part of forward, gradient of the image and gradient of the filter. S: element type.
template <typename S> class Depthwise : public LibraryKernel {
protected:
  using T = Compute<S>;

  Depthwise(const ConvShape &c, int threads)
      : c_(c), threads_(threads), rows_(stencilRows<T>()),
        axes_{axisOf(0), axisOf(1), axisOf(2)}, reach_{axes_[0].reach, axes_[1].reach, axes_[2].reach},
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
  void stageImage(const S *image, const Space &begin, const Space &count, T *dst) const {
    Space first;
    for (int64_t d : axes_[0].residues)
      for (int64_t h : axes_[1].residues)
        for (int64_t w : axes_[2].residues) {
          const Space residue{d, h, w};
          for (size_t i = 0; i < 3; ++i)
            first[i] = begin[i] * c_.stride[i] + residue[i] - c_.pad[i];
          stagePlane(image, c_.in, first, c_.stride, count, dst);
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

  static void widen(const S *weights, int64_t count, T *wide) { convertRows(1, count, weights, 0, wide, 0); }

  KernelWork work() const override {
    const double points = static_cast<double>(c_.batch * c_.filters * c_.outSize());
    return {KernelWork::Kind::Vector, 2 * points * static_cast<double>(c_.taps()), 0, {}, {}, 0};
  }

  ConvShape c_;
  int threads_;
  const StencilRows<T> &rows_;
  std::array<TapAxis, 3> axes_;
  Space reach_;
  size_t bandAxis_;
};

} // namespace kedge::rt::cpu::depthwise
