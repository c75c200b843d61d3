// Depthwise convolutions and their gradients, as stencils over what DepthwiseStage.h has staged.
#include "runtime/cpu/conv/ConvDepthwise.h"
#include "runtime/cpu/conv/DepthwiseStage.h"
#include <numeric>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using namespace depthwise;

template <typename S> class DepthwiseForward final : public Depthwise<S> {
  using Base = Depthwise<S>;
  using Base::c_;
  using typename Base::T;

public:
  DepthwiseForward(const ConvShape &c, int threads, int images, int weights, int bias)
      : Base(c, threads), images_(images), weights_(weights), bias_(bias),
        band_(this->bandOf(c.out, this->phases())) {
    const Space results = this->banded(c.out, band_);
    stagedBytes_ = alignedBytes(sizeof(T) * this->phases() * volume(this->staged(results)));
    resultBytes_ = alignedBytes(sizeof(T) * this->lineOf(results));
  }

  size_t workspaceBytes() const override { return (stagedBytes_ + resultBytes_) * this->threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    const int64_t planes = c_.batch * c_.filters, multiplier = c_.groupFilters();
    if (c_.outSize() == 0)
      return;
    parallelFor(this->threads_, planes, grainFor(8 * c_.outSize()), [&](int64_t begin, int64_t end) {
      char *scratch = static_cast<char *>(workspace) + threadSlot() * (stagedBytes_ + resultBytes_);
      const T *places[kMostDepthwiseTaps];
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t filter = plane % c_.filters;
        T weights[kMostDepthwiseTaps];
        Base::widen(static_cast<const S *>(in[weights_]) + filter * c_.taps(), c_.taps(), weights);
        const T bias = bias_ < 0 ? T(0) : static_cast<T>(static_cast<const S *>(in[bias_])[filter]);
        one(static_cast<const S *>(in[images_]) + plane / multiplier * c_.inSize(), weights, bias,
            static_cast<S *>(out[0]) + plane * c_.outSize(), scratch, places,
            plane == begin || band_ < c_.out[this->bandAxis_]);
      }
    });
  }

private:
  void one(const S *image, const T *weights, T bias, S *result, char *scratch, const T **places,
           bool fresh) const {
    T *stage = reinterpret_cast<T *>(scratch), *line = reinterpret_cast<T *>(scratch + stagedBytes_);
    for (int64_t at = 0; at < c_.out[this->bandAxis_]; at += band_) {
      const Space results = this->banded(c_.out, std::min(band_, c_.out[this->bandAxis_] - at));
      const Space begin = this->banded({}, at), count = this->staged(results);
      this->stageImage(image, begin, count, fresh, stage);
      if (fresh)
        this->placeTaps(stage, count, places);
      this->eachPlane(places, c_.taps(), results[0], count[1] * count[2],
                      [&](int64_t d, const T *const *from) {
                        this->sumRows({c_.taps(), from, count[2], results[1], results[2]}, weights, bias,
                                      line, result + offset(c_.out, begin[0] + d, begin[1], 0), results[2]);
                      });
    }
  }

  int images_, weights_, bias_;
  int64_t band_;
  size_t stagedBytes_, resultBytes_;
};

/// dX. Its places i with (i + pad) = q * stride + residue read dY at q - shift of the taps of that residue,
/// and nothing of the others: each class of residues is a stencil of its own over the same staged dY.
template <typename S> class DepthwiseBack final : public Depthwise<S> {
  using Base = Depthwise<S>;
  using Base::c_, Base::axes_, Base::reach_;
  using typename Base::T;

public:
  DepthwiseBack(const ConvShape &c, int threads, int results, int weights, int bias)
      : Base(c, threads), results_(results), weights_(weights), bias_(bias) {
    for (size_t i = 0; i < 3; ++i) {
      first_[i] = c.pad[i] / c.stride[i];
      size_[i] = c.in[i] ? (c.in[i] - 1 + c.pad[i]) / c.stride[i] + 1 - first_[i] : 0;
    }
    sortTaps();
    band_ = this->bandOf(size_, c.groupFilters());
    const Space places = this->banded(size_, band_);
    stagedBytes_ = alignedBytes(sizeof(T) * c.groupFilters() * volume(this->staged(places)));
    lineBytes_ = alignedBytes(sizeof(T) * volume(this->staged(places)));
  }

  size_t workspaceBytes() const override { return (stagedBytes_ + 2 * lineBytes_) * this->threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    const int64_t planes = c_.batch * c_.channels, multiplier = c_.groupFilters();
    if (c_.inSize() == 0)
      return;
    parallelFor(this->threads_, planes, grainFor(8 * c_.inSize()), [&](int64_t begin, int64_t end) {
      char *scratch = static_cast<char *>(workspace) + threadSlot() * (stagedBytes_ + 2 * lineBytes_);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t channel = plane % c_.channels;
        T weights[kMostDepthwiseTaps];
        Base::widen(static_cast<const S *>(in[weights_]) + channel * multiplier * c_.taps(),
                    multiplier * c_.taps(), weights);
        const T bias = bias_ < 0 ? T(0) : static_cast<T>(static_cast<const S *>(in[bias_])[channel]);
        one(static_cast<const S *>(in[results_]) + plane * multiplier * c_.outSize(), weights, bias,
            static_cast<S *>(out[0]) + plane * c_.inSize(), scratch,
            plane == begin || band_ < size_[this->bandAxis_]);
      }
    });
  }

private:
  /// What places of dX are computed together, and what of dY is staged for them.
  struct Band {
    Space begin, places, count; ///< of q, and of dY
    const T *stage;
    T *lines;
  };

  /// The places of one class of residues in a band.
  struct Class {
    Space start, size, place; ///< first of q in the stage; how many; first in dX
    bool isEmpty() const { return size[0] <= 0 || size[1] <= 0 || size[2] <= 0; }
  };

  void one(const S *gradient, const T *weights, T bias, S *image, char *scratch, bool fresh) const {
    T *stage = reinterpret_cast<T *>(scratch), *lines = reinterpret_cast<T *>(scratch + stagedBytes_);
    for (int64_t at = 0; at < size_[this->bandAxis_]; at += band_) {
      const Space places = this->banded(size_, std::min(band_, size_[this->bandAxis_] - at));
      Space begin = first_;
      begin[this->bandAxis_] += at;
      const Space count = this->staged(places),
                  first{begin[0] - reach_[0], begin[1] - reach_[1], begin[2] - reach_[2]};
      for (int64_t filter = 0; filter < c_.groupFilters(); ++filter)
        stagePlane(gradient + filter * c_.outSize(), c_.out, first, Space{1, 1, 1}, count, fresh,
                   stage + filter * volume(count));
      const Band band{begin, places, count, stage, lines};
      for (int64_t d = 0; d < c_.stride[0]; ++d)
        for (int64_t h = 0; h < c_.stride[1]; ++h)
          weaves() ? twoClasses(band, d, h, weights, bias, image) : classes(band, d, h, weights, bias, image);
    }
  }

  /// Whether two classes make whole rows: steps of two would be stored one by one.
  bool weaves() const { return !kIsHalf<S> && c_.stride[2] == 2 && c_.in[2] > 1; }

  Class classOf(const Band &band, const Space &residue) const {
    Class at;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t low = std::max(band.begin[i], ceilDiv(c_.pad[i] - residue[i], c_.stride[i]));
      const int64_t end = floorDiv(c_.in[i] - 1 + c_.pad[i] - residue[i], c_.stride[i]) + 1;
      at.start[i] = low - band.begin[i] + reach_[i];
      at.size[i] = std::min(band.begin[i] + band.places[i], end) - low;
      at.place[i] = low * c_.stride[i] + residue[i] - c_.pad[i];
    }
    return at;
  }

  /// One after the other: residues (d, h, all).
  void classes(const Band &band, int64_t d, int64_t h, const T *weights, T bias, S *image) const {
    const int64_t pitch = c_.stride[1] * c_.in[2], step = c_.stride[2];
    for (int64_t w = 0; w < step; ++w) {
      const Class at = classOf(band, {d, h, w});
      if (!at.isEmpty())
        eachSum(band, at, {d, h, w}, weights,
                [&](int64_t plane, const StencilTaps<T> &taps, const T *chosen) {
                  S *to = image + offset(c_.in, at.place[0] + plane * c_.stride[0], at.place[1], at.place[2]);
                  if (step == 1)
                    return this->sumRows(taps, chosen, bias, band.lines, to, pitch);
                  this->sumLine(taps, chosen, bias, band.lines);
                  broadcast(band.lines, taps, to, pitch, step);
                });
    }
  }

  /// Residues (d, h, 0) and (d, h, 1), whose places take turns.
  void twoClasses(const Band &band, int64_t d, int64_t h, const T *weights, T bias, S *image) const {
    const T *lines[2];
    Class at;
    for (int64_t w = 0; w < 2; ++w) {
      at = classOf(band, {d, h, w});
      if (at.isEmpty())
        return;
      T *line = band.lines + (at.place[2] ? lineBytes_ / sizeof(T) : 0);
      lines[at.place[2]] = line;
      eachSum(band, at, {d, h, w}, weights, [&](int64_t plane, const StencilTaps<T> &taps, const T *chosen) {
        this->sumLine(taps, chosen, bias, line + plane * taps.rows * taps.pitch);
      });
    }
    if constexpr (!kIsHalf<S>)
      for (int64_t plane = 0; plane < at.size[0]; ++plane) {
        const int64_t from = plane * at.size[1] * band.count[2];
        this->rows_.inTurns(at.size[1], c_.in[2], lines[0] + from, lines[1] + from, band.count[2],
                            image + offset(c_.in, at.place[0] + plane * c_.stride[0], at.place[1], 0),
                            c_.stride[1] * c_.in[2]);
      }
  }

  /// Calls sum(plane, taps, weights of the taps) for the planes of a class.
  template <typename Sum>
  void eachSum(const Band &band, const Class &at, const Space &residue, const T *weights, Sum sum) const {
    const T *from[kMostDepthwiseTaps];
    T chosen[kMostDepthwiseTaps];
    const T *first = band.stage + offset(band.count, at.start[0], at.start[1], at.start[2]);
    int64_t found = 0;
    for (const BackTap &tap : taps_[classNumber(residue)]) {
      from[found] = first + tap.filter * volume(band.count) - offset(band.count, tap.d, tap.h, tap.w);
      chosen[found++] = weights[tap.weight];
    }
    this->eachPlane(from, found, at.size[0], band.count[1] * band.count[2],
                    [&](int64_t plane, const T *const *taps) {
                      sum(plane, StencilTaps<T>{found, taps, band.count[2], at.size[1], at.size[2]}, chosen);
                    });
  }

  static void broadcast(const T *line, const StencilTaps<T> &taps, S *to, int64_t pitch, int64_t step) {
    for (int64_t r = 0; r < taps.rows; ++r, line += taps.pitch, to += pitch)
      for (int64_t i = 0; i < taps.width; ++i)
        to[i * step] = static_cast<S>(line[i]);
  }

  /// A tap of one of the channel's filters, with its distances.
  struct BackTap {
    int64_t filter, d, h, w, weight;
  };

  size_t classNumber(const Space &residue) const {
    return static_cast<size_t>((residue[0] * c_.stride[1] + residue[1]) * c_.stride[2] + residue[2]);
  }

  void sortTaps() {
    taps_.resize(static_cast<size_t>(volume(c_.stride)));
    const auto &[d, h, w] = axes_;
    int64_t weight = 0;
    for (int64_t filter = 0; filter < c_.groupFilters(); ++filter)
      for (size_t i = 0; i < d.shift.size(); ++i)
        for (size_t j = 0; j < h.shift.size(); ++j)
          for (size_t k = 0; k < w.shift.size(); ++k)
            taps_[classNumber({d.residues[d.phase[i]], h.residues[h.phase[j]], w.residues[w.phase[k]]})]
                .push_back({filter, d.shift[i], h.shift[j], w.shift[k], weight++});
  }

  int results_, weights_, bias_;
  Space first_, size_;                     ///< of q
  std::vector<std::vector<BackTap>> taps_; ///< of each class
  int64_t band_;
  size_t stagedBytes_, lineBytes_;
};

/// dW: every tap's plane times dY, over all images, one filter after the other. dY is staged with rows as far
/// apart as the taps' and zeros between them, so that a plane is one row.
template <typename S> class DepthwiseWeights final : public Depthwise<S> {
  using Base = Depthwise<S>;
  using Base::c_;
  using typename Base::T;

public:
  DepthwiseWeights(const ConvShape &c, int threads, int images, int gradients)
      : Base(c, threads), images_(images), gradients_(gradients),
        band_(this->bandOf(c.out, this->phases() + 1)) {
    const Space results = this->banded(c.out, band_);
    const int64_t places = volume(this->staged(results));
    stagedBytes_ = alignedBytes(sizeof(T) * (this->phases() * places + kBehindStencil));
    gradientBytes_ = alignedBytes(sizeof(T) * (places + kBehindStencil));
  }

  size_t workspaceBytes() const override { return (stagedBytes_ + gradientBytes_) * this->threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    parallelFor(this->threads_, c_.filters, 1, [&](int64_t begin, int64_t end) {
      char *scratch = static_cast<char *>(workspace) + threadSlot() * (stagedBytes_ + gradientBytes_);
      const T *places[kMostDepthwiseTaps];
      bool fresh = true;
      for (int64_t filter = begin; filter < end; ++filter) {
        T lanes[kMostDepthwiseTaps * kStencilLanes], totals[kMostDepthwiseTaps];
        std::fill_n(lanes, c_.taps() * kStencilLanes, T(0));
        for (int64_t image = 0; image < c_.batch && c_.outSize() > 0; ++image) {
          one(static_cast<const S *>(in[images_]) +
                  (image * c_.channels + filter / c_.groupFilters()) * c_.inSize(),
              static_cast<const S *>(in[gradients_]) + (image * c_.filters + filter) * c_.outSize(), lanes,
              scratch, places, fresh);
          fresh = band_ < c_.out[this->bandAxis_];
        }
        for (int64_t t = 0; t < c_.taps(); ++t)
          totals[t] = std::accumulate(lanes + t * kStencilLanes, lanes + (t + 1) * kStencilLanes, T(0));
        convertRows(1, c_.taps(), totals, 0, static_cast<S *>(out[0]) + filter * c_.taps(), 0);
      }
    });
  }

private:
  void one(const S *image, const S *gradient, T *lanes, char *scratch, const T **places, bool fresh) const {
    T *stage = reinterpret_cast<T *>(scratch), *other = reinterpret_cast<T *>(scratch + stagedBytes_);
    for (int64_t at = 0; at < c_.out[this->bandAxis_]; at += band_) {
      const Space results = this->banded(c_.out, std::min(band_, c_.out[this->bandAxis_] - at));
      const Space begin = this->banded({}, at), count = this->staged(results);
      this->stageImage(image, begin, count, fresh, stage);
      stagePlane(gradient, c_.out, begin, Space{1, 1, 1}, Space{results[0], results[1], count[2]}, fresh,
                 other);
      if (fresh)
        this->placeTaps(stage, count, places);
      this->eachPlane(
          places, c_.taps(), results[0], count[1] * count[2], [&](int64_t d, const T *const *from) {
            dots(from, (results[1] - 1) * count[2] + results[2], other + d * results[1] * count[2], lanes);
          });
    }
  }

  /// Of `length` elements in pieces, after each of which a chain of sums ends.
  void dots(const T *const *from, int64_t length, const T *other, T *lanes) const {
    constexpr int64_t kPiece = 1024;
    const int64_t pieces = length / kPiece, rest = length % kPiece;
    if (pieces)
      this->rows_.dots({c_.taps(), from, kPiece, pieces, kPiece}, other, lanes);
    if (!rest)
      return;
    const T *last[kMostDepthwiseTaps];
    for (int64_t t = 0; t < c_.taps(); ++t)
      last[t] = from[t] + pieces * kPiece;
    this->rows_.dots({c_.taps(), last, 0, 1, rest}, other + pieces * kPiece, lanes);
  }

  int images_, gradients_;
  int64_t band_;
  size_t stagedBytes_, gradientBytes_;
};

} // namespace

std::unique_ptr<LibraryKernel> makeDepthwise(const LibraryCall &call, const ConvShape &c,
                                             const ConvRoles &roles, int bias, int threads) {
  using Kind = ConvRoles::Kind;
  return dispatchFloat(
      call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
        if (roles.kind == Kind::Filter)
          return std::make_unique<DepthwiseWeights<S>>(c, threads, roles.image, roles.result);
        if (roles.kind == Kind::Data)
          return std::make_unique<DepthwiseBack<S>>(c, threads, roles.result, roles.filter, bias);
        return std::make_unique<DepthwiseForward<S>>(c, threads, roles.image, roles.filter, bias);
      });
}

} // namespace kedge::rt::cpu
