// dX of a convolution with strides. Positions i of X with (i + pad) = q * stride + residue meet only the taps
// of that residue, and read dY at q - shift: so each class of residues is a product of its own, over its own
// taps, and no product with a zero between strides is computed. Sums go to their places when they are
// complete.
#include "runtime/cpu/conv/ConvStrided.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/conv/ConvPanels.h"
#include <numeric>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// The positions of a class, as a convolution of stride 1 that reads dY.
struct ResidueClass {
  ConvShape c;        ///< in: dY; out: positions of the class
  Space place;        ///< of its first position in X
  Space tap, tapStep; ///< the first tap, and from one tap to the next

  int64_t depth() const { return c.channels * c.taps(); }
};

ResidueClass classOf(const ConvShape &c, const Space &residue) {
  ResidueClass found{};
  ConvShape &own = found.c;
  own.batch = c.batch, own.groups = 1, own.channels = c.groupFilters(), own.filters = c.groupChannels();
  own.in = c.out, own.stride = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t stride = c.stride[i], common = std::gcd(c.dilation[i], stride);
    const int64_t low = ceilDiv(c.pad[i] - residue[i], stride);
    own.out[i] = std::max<int64_t>(0, ceilDiv(c.in[i] + c.pad[i] - residue[i], stride) - low);
    found.place[i] = low * stride + residue[i] - c.pad[i];
    int64_t tap = 0;
    while (tap < c.kernel[i] && tap * c.dilation[i] % stride != residue[i])
      ++tap;
    found.tap[i] = tap, found.tapStep[i] = stride / common;
    own.kernel[i] = ceilDiv(c.kernel[i] - tap, found.tapStep[i]);
    own.dilation[i] = -(c.dilation[i] / common);
    own.pad[i] = tap * c.dilation[i] / stride - low;
  }
  return found;
}

/// Sums of a tile to their positions in X, the bias of their row added, rounded once. Images follow each
/// other in the columns.
template <typename S> struct PlaceFinish {
  using T = Compute<S>;
  const ResidueClass &at;
  const ConvShape &whole;
  const S *bias; ///< of the rows; null: none
  S *result;     ///< of the first image

  static void tile(const void *context, const T *sums, int64_t stride, int64_t row, int64_t column,
                   int64_t rows, int64_t columns) {
    const PlaceFinish &f = *static_cast<const PlaceFinish *>(context);
    const int64_t positions = f.at.c.outSize();
    int64_t image = column / positions, position = column % positions;
    for (int64_t length; columns > 0; columns -= length, sums += length, position = 0, ++image) {
      length = std::min(columns, positions - position);
      Segment segments[kMostColumns];
      const int64_t count = cutRows(f.at.c.out, position, length, segments);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t s = 0; s < count; ++s)
          f.put(image, row + i, segments[s], sums + i * stride + segments[s].at);
    }
  }

  void put(int64_t image, int64_t row, const Segment &s, const T *sums) const {
    const Space &size = whole.in, &step = whole.stride;
    const int64_t d = at.place[0] + s.d * step[0], h = at.place[1] + s.h * step[1],
                  w = at.place[2] + s.w * step[2];
    S *to = result + (((image * whole.groupChannels() + row) * size[0] + d) * size[1] + h) * size[2] + w;
    const T add = bias ? static_cast<T>(bias[row]) : T(0);
    for (int64_t j = 0; j < s.length; ++j)
      to[j * step[2]] = static_cast<S>(sums[j] + add);
  }
};

/// S: element type; E: type in the tile's panels.
template <typename S, typename E> class StridedBack final : public LibraryKernel {
  using T = Compute<S>;

public:
  StridedBack(const ConvShape &c, int results, int weights, int bias, int threads)
      : c_(c), results_(results), weights_(weights), bias_(bias), threads_(threads),
        joined_(c.groups == 1 && c.batch > 1 &&
                c.inSize() <= kSmallPlane * c.stride[0] * c.stride[1] * c.stride[2]),
        broadcast_(!joined_ && c.batch * c.groups >= threads) {
    const int team = broadcast_ ? 1 : threads;
    for (int64_t d = 0; d < c.stride[0]; ++d)
      for (int64_t h = 0; h < c.stride[1]; ++h)
        for (int64_t w = 0; w < c.stride[2]; ++w) {
          const ResidueClass at = classOf(c, {d, h, w});
          if (at.c.outSize() == 0)
            continue;
          hasGaps_ |= isGap(at);
          classes_.push_back(at);
          plans_.push_back(planGemm<E>(rows(), places(at), at.depth(), team, true));
          planBytes_ = std::max(
              planBytes_, alignedBytes(gemmWorkspaceBytes<S>(rows(), places(at), at.depth(), team, true)));
        }
  }

  size_t workspaceBytes() const override { return planBytes_ * (broadcast_ ? threads_ : 1); }

  void run(Inputs in, Outputs out, void *workspace) override {
    const int64_t jobs = joined_ ? 1 : c_.batch * c_.groups;
    if (!broadcast_) {
      for (int64_t job = 0; job < jobs; ++job)
        one(in, out, job, static_cast<char *>(workspace));
      return;
    }
    parallelParts(threads_, jobs, [&](int64_t job) {
      one(in, out, job, static_cast<char *>(workspace) + threadSlot() * planBytes_);
    });
  }

private:
  int64_t rows() const { return c_.groupChannels(); }
  int64_t places(const ResidueClass &at) const {
    return at.c.outSize() * (joined_ ? c_.batch : 1);
  } ///< columns of a product

  /// All images, or a group of one.
  void one(Inputs in, Outputs out, int64_t job, char *scratch) const {
    const int64_t group = job % c_.groups;
    const S *gradient = static_cast<const S *>(in[results_]) + job * c_.groupFilters() * c_.outSize();
    const S *weights = static_cast<const S *>(in[weights_]) + group * c_.groupFilters() * rows() * c_.taps();
    const S *bias = bias_ < 0 ? nullptr : static_cast<const S *>(in[bias_]) + group * rows();
    S *result = static_cast<S *>(out[0]) + job * rows() * c_.inSize();
    if (hasGaps_ && !bias)
      std::fill_n(result, rows() * c_.inSize() * (joined_ ? c_.batch : 1), S(0));
    for (size_t i = 0; i < classes_.size(); ++i)
      product(classes_[i], plans_[i], gradient, weights, bias, result, scratch);
  }

  void product(const ResidueClass &at, const GemmPlan &plan, const S *gradient, const S *weights,
               const S *bias, S *result, void *workspace) const {
    const PlaceFinish<S> context{at, c_, bias, result};
    if (isGap(at))
      return bias ? startPlaces(at, context) : void();
    const GemmFinish<T> finish{PlaceFinish<S>::tile, &context};
    auto left = [&](E *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
      packWeights(at, dst, width, weights, row, rows, k0, length);
    };
    auto right = [&](E *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
      packPlaces<false>(at.c, dst, width, gradient, column, columns, k0, length);
    };
    gemmBlocked<E>(plan, left, right, static_cast<T *>(nullptr), places(at), GemmStart::Zero,
                   static_cast<const T *>(nullptr), &finish, workspace);
  }

  /// Positions that no tap meets: whole rows of zeros, unless there is a bias.
  static bool isGap(const ResidueClass &at) { return at.depth() == 0 || at.c.inSize() == 0; }

  void startPlaces(const ResidueClass &at, const PlaceFinish<S> &context) const {
    const T zeros[kMostColumns] = {};
    for (int64_t row = 0; row < rows(); ++row)
      for (int64_t column = 0; column < places(at); column += kMostColumns)
        PlaceFinish<S>::tile(&context, zeros, 0, row, column, 1, std::min(kMostColumns, places(at) - column));
  }

  /// Rows are channels, k runs over (filter, tap of the class).
  void packWeights(const ResidueClass &at, E *dst, int width, const S *weights, int64_t row, int64_t rows,
                   int64_t k0, int64_t length) const {
    const int64_t taps = c_.taps();
    TapRow tap(at.c.kernel, k0);
    auto fill = [&](int64_t, auto *list) {
      Space place;
      for (size_t i = 0; i < 3; ++i)
        place[i] = at.tap[i] + tap.tap[i] * at.tapStep[i];
      const S *source = weights + (tap.channel * this->rows() + row) * taps +
                        (place[0] * c_.kernel[1] + place[1]) * c_.kernel[2] + place[2];
      for (int64_t i = 0; i < rows; ++i)
        list[i] = source[i * taps];
      tap.next(at.c.kernel);
    };
    packFilled<S>(dst, width, rows, length, fill, [](auto... panel) { packA(panel...); });
  }

  ConvShape c_;
  int results_, weights_, bias_, threads_;
  bool joined_;          ///< one product of all images for each class
  bool broadcast_;       ///< every thread takes whole images
  bool hasGaps_ = false; ///< classes without taps
  std::vector<ResidueClass> classes_;
  std::vector<GemmPlan> plans_;
  size_t planBytes_ = 0;
};

} // namespace

std::unique_ptr<LibraryKernel> makeStridedBack(const LibraryCall &call, const ConvShape &c, int results,
                                               int weights, int bias, int threads) {
  return dispatchFloat(
      call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
        if constexpr (kIsHalf<S>)
          if (runsInBf16<S>(c.groupFilters() * c.taps()))
            return std::make_unique<StridedBack<S, Bf16PanelsOf<S>>>(c, results, weights, bias, threads);
        return std::make_unique<StridedBack<S, Compute<S>>>(c, results, weights, bias, threads);
      });
}

} // namespace kedge::rt::cpu
