// Depthwise convolutions and their gradients, as stencils over what DepthwiseStage.h has staged.
#include "runtime/cpu/ConvDepthwise.h"
#include "runtime/cpu/DepthwiseStage.h"

namespace kedge::rt::cpu {
namespace {

using namespace depthwise;

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
