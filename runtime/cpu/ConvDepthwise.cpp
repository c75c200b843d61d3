// Depthwise convolutions and their gradients. What a result's taps read is staged first: a plane (or a band of its rows)
// goes to the thread's scratch with its padding, in the type computed in, and for strides cut into one plane a residue.
// Then each tap of neighbouring results reads neighbours, whatever stride, dilation, pads and type, and the inner loops
// (StencilRows) know nothing of them.
#include "runtime/cpu/ConvDepthwise.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/GemmPack.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/StencilRows.h"

namespace kedge::rt::cpu {
namespace {

int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
int64_t ceilDiv(int64_t a, int64_t b) { return -floorDiv(-a, b); }

/// Taps along one dimension: tap t is `shift[t]` places away in the plane of residue residues[phase[t]].
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

int64_t volume(const Space &s) { return s[0] * s[1] * s[2]; }
int64_t offset(const Space &size, int64_t d, int64_t h, int64_t w) { return (d * size[1] + h) * size[2] + w; }

/// Those of `count` places first + j * step that lie in [0, size).
struct Inside {
  int64_t begin, end;
  Inside(int64_t size, int64_t first, int64_t step, int64_t count)
      : begin(std::clamp<int64_t>(ceilDiv(-first, step), 0, count)),
        end(std::clamp<int64_t>(ceilDiv(size - first, step), begin, count)) {}
};

template <typename T> void zero(T *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) // rows' margins are short: no call
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

/// dst [count] = places first + j * step of a plane; 0 outside of it.
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

/// What forward, gradient of the image and gradient of the filter share. S: element type.
template <typename S> class Depthwise : public LibraryKernel {
protected:
  using T = Compute<S>;

  Depthwise(const ConvShape &c, int threads)
      : c_(c), threads_(threads), rows_(stencilRows<T>()),
        axes_{axisOf(0), axisOf(1), axisOf(2)}, reach_{axes_[0].reach, axes_[1].reach, axes_[2].reach},
        bandAxis_(c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 ? 1 : 0) {}

  TapAxis axisOf(size_t i) const { return {c_.kernel[i], c_.stride[i], c_.dilation[i]}; }

  /// Places along bandAxis_ that are made together: what they read fits in half a second-level cache.
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

  /// The image's plane for results from `begin` on, one plane a phase.
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

  /// Where each tap of the first result lies in what stageImage wrote.
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

template <typename S> class DepthwiseForward final : public Depthwise<S> {
  using Base = Depthwise<S>;
  using typename Base::T;
  using Base::c_;

public:
  DepthwiseForward(const ConvShape &c, int threads, int images, int weights, int bias)
      : Base(c, threads), images_(images), weights_(weights), bias_(bias), band_(this->bandOf(c.out, this->phases())) {
    const Space results = this->banded(c.out, band_);
    stagedBytes_ = alignedBytes(sizeof(T) * this->phases() * volume(this->staged(results)));
    resultBytes_ = kIsNarrow<S> ? alignedBytes(sizeof(T) * results[1] * results[2]) : 0;
  }

  size_t workspaceBytes() const override { return (stagedBytes_ + resultBytes_) * this->threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    const int64_t planes = c_.batch * c_.filters, multiplier = c_.groupFilters();
    if (c_.outSize() == 0)
      return;
    parallelFor(this->threads_, planes, grainFor(8 * c_.outSize()), [&](int64_t begin, int64_t end) {
      char *scratch = static_cast<char *>(workspace) + threadSlot() * (stagedBytes_ + resultBytes_);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t filter = plane % c_.filters;
        T weights[kMostDepthwiseTaps];
        Base::widen(static_cast<const S *>(in[weights_]) + filter * c_.taps(), c_.taps(), weights);
        const T bias = bias_ < 0 ? T(0) : static_cast<T>(static_cast<const S *>(in[bias_])[filter]);
        one(static_cast<const S *>(in[images_]) + plane / multiplier * c_.inSize(), weights, bias,
            static_cast<S *>(out[0]) + plane * c_.outSize(), scratch);
      }
    });
  }

private:
  void one(const S *image, const T *weights, T bias, S *result, char *scratch) const {
    T *stage = reinterpret_cast<T *>(scratch), *line = reinterpret_cast<T *>(scratch + stagedBytes_);
    const T *from[kMostDepthwiseTaps];
    for (int64_t at = 0; at < c_.out[this->bandAxis_]; at += band_) {
      const Space results = this->banded(c_.out, std::min(band_, c_.out[this->bandAxis_] - at));
      const Space begin = this->banded({}, at), count = this->staged(results);
      this->stageImage(image, begin, count, stage);
      this->placeTaps(stage, count, from);
      for (int64_t d = 0; d < results[0]; ++d) {
        const StencilTaps<T> taps{c_.taps(), from, count[2], results[1], results[2]};
        S *to = result + offset(c_.out, begin[0] + d, begin[1], 0);
        if constexpr (kIsNarrow<S>) {
          this->rows_.sums(taps, weights, bias, line, results[2]);
          convertRows(1, results[1] * results[2], line, 0, to, 0);
        } else {
          this->rows_.sums(taps, weights, bias, to, results[2]);
        }
        for (int64_t t = 0; t < c_.taps(); ++t)
          from[t] += count[1] * count[2];
      }
    }
  }

  int images_, weights_, bias_;
  int64_t band_;
  size_t stagedBytes_, resultBytes_;
};

/// dX. Its places i with (i + pad) = q * stride + residue read dY at q - shift of the taps of that residue, and nothing of
/// the others: each class of residues is a stencil of its own over the same staged dY.
template <typename S> class DepthwiseBack final : public Depthwise<S> {
  using Base = Depthwise<S>;
  using typename Base::T;
  using Base::c_, Base::axes_, Base::reach_;

public:
  DepthwiseBack(const ConvShape &c, int threads, int results, int weights, int bias)
      : Base(c, threads), results_(results), weights_(weights), bias_(bias) {
    for (size_t i = 0; i < 3; ++i) {
      first_[i] = c.pad[i] / c.stride[i];
      size_[i] = c.in[i] ? (c.in[i] - 1 + c.pad[i]) / c.stride[i] + 1 - first_[i] : 0;
    }
    band_ = this->bandOf(size_, c.groupFilters());
    const Space places = this->banded(size_, band_);
    stagedBytes_ = alignedBytes(sizeof(T) * c.groupFilters() * volume(this->staged(places)));
    lineBytes_ = alignedBytes(sizeof(T) * places[1] * places[2]);
  }

  size_t workspaceBytes() const override { return (stagedBytes_ + lineBytes_) * this->threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    const int64_t planes = c_.batch * c_.channels, multiplier = c_.groupFilters();
    if (c_.inSize() == 0)
      return;
    parallelFor(this->threads_, planes, grainFor(8 * c_.inSize()), [&](int64_t begin, int64_t end) {
      char *scratch = static_cast<char *>(workspace) + threadSlot() * (stagedBytes_ + lineBytes_);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t channel = plane % c_.channels;
        T weights[kMostDepthwiseTaps];
        Base::widen(static_cast<const S *>(in[weights_]) + channel * multiplier * c_.taps(), multiplier * c_.taps(), weights);
        const T bias = bias_ < 0 ? T(0) : static_cast<T>(static_cast<const S *>(in[bias_])[channel]);
        one(static_cast<const S *>(in[results_]) + plane * multiplier * c_.outSize(), weights, bias,
            static_cast<S *>(out[0]) + plane * c_.inSize(), scratch);
      }
    });
  }

private:
  void one(const S *gradient, const T *weights, T bias, S *image, char *scratch) const {
    T *stage = reinterpret_cast<T *>(scratch), *line = reinterpret_cast<T *>(scratch + stagedBytes_);
    for (int64_t at = 0; at < size_[this->bandAxis_]; at += band_) {
      const Space places = this->banded(size_, std::min(band_, size_[this->bandAxis_] - at));
      Space begin = first_;
      begin[this->bandAxis_] += at;
      const Space count = this->staged(places), first{begin[0] - reach_[0], begin[1] - reach_[1], begin[2] - reach_[2]};
      for (int64_t filter = 0; filter < c_.groupFilters(); ++filter)
        stagePlane(gradient + filter * c_.outSize(), c_.out, first, Space{1, 1, 1}, count, stage + filter * volume(count));
      for (int64_t d = 0; d < c_.stride[0]; ++d)
        for (int64_t h = 0; h < c_.stride[1]; ++h)
          for (int64_t w = 0; w < c_.stride[2]; ++w)
            residue({d, h, w}, begin, places, stage, weights, bias, image, line);
    }
  }

  /// The places of one class of residues among q in [begin, begin + places).
  void residue(const Space &residue, const Space &begin, const Space &places, const T *stage, const T *weights, T bias,
               S *image, T *line) const {
    Space low, size, place;
    for (size_t i = 0; i < 3; ++i) {
      low[i] = std::max(begin[i], ceilDiv(c_.pad[i] - residue[i], c_.stride[i]));
      const int64_t end = floorDiv(c_.in[i] - 1 + c_.pad[i] - residue[i], c_.stride[i]) + 1;
      size[i] = std::min(begin[i] + places[i], end) - low[i];
      place[i] = low[i] * c_.stride[i] + residue[i] - c_.pad[i];
      if (size[i] <= 0)
        return;
    }
    const T *from[kMostDepthwiseTaps];
    T chosen[kMostDepthwiseTaps];
    const Space count = this->staged(places);
    const Space start{low[0] - begin[0] + reach_[0], low[1] - begin[1] + reach_[1], low[2] - begin[2] + reach_[2]};
    const int64_t found = chooseTaps(residue, stage, count, start, weights, from, chosen);
    const int64_t pitch = c_.stride[1] * c_.in[2], step = c_.stride[2];
    for (int64_t d = 0; d < size[0]; ++d) {
      const StencilTaps<T> taps{found, from, count[2], size[1], size[2]};
      S *to = image + offset(c_.in, place[0] + d * c_.stride[0], place[1], place[2]);
      if (!kIsNarrow<S> && step == 1) {
        this->rows_.sums(taps, chosen, bias, reinterpret_cast<T *>(to), pitch);
      } else {
        this->rows_.sums(taps, chosen, bias, line, size[2]);
        spread(line, size[1], size[2], to, pitch, step);
      }
      for (int64_t t = 0; t < found; ++t)
        from[t] += count[1] * count[2];
    }
  }

  static void spread(const T *line, int64_t rows, int64_t width, S *to, int64_t pitch, int64_t step) {
    if (step == 1)
      return convertRows(rows, width, line, width, to, pitch);
    for (int64_t r = 0; r < rows; ++r, line += width, to += pitch)
      for (int64_t i = 0; i < width; ++i)
        to[i * step] = static_cast<S>(line[i]);
  }

  /// The taps of a class, of all filters of the channel, with their weights. Returns how many.
  int64_t chooseTaps(const Space &residue, const T *stage, const Space &count, const Space &start, const T *weights,
                     const T **from, T *chosen) const {
    const auto &[d, h, w] = axes_;
    int64_t found = 0;
    for (int64_t filter = 0; filter < c_.groupFilters(); ++filter)
      for (size_t i = 0; i < d.shift.size(); ++i)
        for (size_t j = 0; j < h.shift.size(); ++j)
          for (size_t k = 0; k < w.shift.size(); ++k, ++weights) {
            if (d.residues[d.phase[i]] != residue[0] || h.residues[h.phase[j]] != residue[1] ||
                w.residues[w.phase[k]] != residue[2])
              continue;
            from[found] = stage + filter * volume(count) +
                          offset(count, start[0] - d.shift[i], start[1] - h.shift[j], start[2] - w.shift[k]);
            chosen[found++] = *weights;
          }
    return found;
  }

  int results_, weights_, bias_;
  Space first_, size_; ///< of q
  int64_t band_;
  size_t stagedBytes_, lineBytes_;
};

/// dW: every tap's plane times dY, over all images, one filter after the other.
template <typename S> class DepthwiseWeights final : public Depthwise<S> {
  using Base = Depthwise<S>;
  using typename Base::T;
  using Base::c_;

public:
  DepthwiseWeights(const ConvShape &c, int threads, int images, int gradients)
      : Base(c, threads), images_(images), gradients_(gradients), band_(this->bandOf(c.out, this->phases() + 1)) {
    const Space results = this->banded(c.out, band_);
    stagedBytes_ = alignedBytes(sizeof(T) * (this->phases() * volume(this->staged(results)) + kBehindStencil));
    gradientBytes_ = alignedBytes(sizeof(T) * (volume(results) + kBehindStencil));
  }

  size_t workspaceBytes() const override { return (stagedBytes_ + gradientBytes_) * this->threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    parallelFor(this->threads_, c_.filters, 1, [&](int64_t begin, int64_t end) {
      char *scratch = static_cast<char *>(workspace) + threadSlot() * (stagedBytes_ + gradientBytes_);
      for (int64_t filter = begin; filter < end; ++filter) {
        T totals[kMostDepthwiseTaps] = {};
        for (int64_t image = 0; image < c_.batch && c_.outSize() > 0; ++image)
          one(static_cast<const S *>(in[images_]) + (image * c_.channels + filter / c_.groupFilters()) * c_.inSize(),
              static_cast<const S *>(in[gradients_]) + (image * c_.filters + filter) * c_.outSize(), totals, scratch);
        convertRows(1, c_.taps(), totals, 0, static_cast<S *>(out[0]) + filter * c_.taps(), 0);
      }
    });
  }

private:
  void one(const S *image, const S *gradient, T *totals, char *scratch) const {
    T *stage = reinterpret_cast<T *>(scratch), *other = reinterpret_cast<T *>(scratch + stagedBytes_);
    const T *from[kMostDepthwiseTaps];
    for (int64_t at = 0; at < c_.out[this->bandAxis_]; at += band_) {
      const Space results = this->banded(c_.out, std::min(band_, c_.out[this->bandAxis_] - at));
      const Space begin = this->banded({}, at), count = this->staged(results);
      this->stageImage(image, begin, count, stage);
      convertRows(1, volume(results), gradient + offset(c_.out, begin[0], begin[1], 0), 0, other, 0);
      this->placeTaps(stage, count, from);
      for (int64_t d = 0; d < results[0]; ++d) {
        this->rows_.dots({c_.taps(), from, count[2], results[1], results[2]}, other + d * results[1] * results[2], totals);
        for (int64_t t = 0; t < c_.taps(); ++t)
          from[t] += count[1] * count[2];
      }
    }
  }

  int images_, gradients_;
  int64_t band_;
  size_t stagedBytes_, gradientBytes_;
};

} // namespace

std::unique_ptr<LibraryKernel> makeDepthwise(const LibraryCall &call, const ConvShape &c, const ConvRoles &roles, int bias,
                                             int threads) {
  using Kind = ConvRoles::Kind;
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
    if (roles.kind == Kind::Filter)
      return std::make_unique<DepthwiseWeights<S>>(c, threads, roles.image, roles.result);
    if (roles.kind == Kind::Data)
      return std::make_unique<DepthwiseBack<S>>(c, threads, roles.result, roles.filter, bias);
    return std::make_unique<DepthwiseForward<S>>(c, threads, roles.image, roles.filter, bias);
  });
}

} // namespace kedge::rt::cpu
