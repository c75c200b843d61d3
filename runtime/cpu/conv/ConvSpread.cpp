// dX of a convolution with strides and few channels, as the last layer of a generator of images is one. What
// each place of dY adds to all places of X that it was computed from is a product of the filters, turned,
// with dY: each number of dY is packed once, where products for classes of places (ConvStrided) pack it once
// a tap, for few rows. Then it is added to its places, tap by tap. An image of a group is one thread's, so
// that sums have one order.
#include "runtime/cpu/conv/ConvSpread.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/gemm/Gemm.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kMostSums = 64 << 10;   ///< of a product: with its panels they stay in the L2
constexpr int64_t kFewestPlaces = 128;    ///< the filters are packed for each image
constexpr int64_t kFiltersPerChannel = 4; ///< with 2 the additions cost more than packing does

class SpreadBack final : public LibraryKernel {
public:
  SpreadBack(const ConvShape &c, int results, int weights, int bias, int threads)
      : c_(c), results_(results), weights_(weights), bias_(bias), threads_(threads),
        rows_(c.groupChannels() * c.taps()),
        lines_(std::clamp<int64_t>(kMostSums / (rows_ * c.out[2]), 1, lines())),
        sumBytes_(alignedBytes(sizeof(float) * rows_ * lines_ * c.out[2])),
        planBytes_(
            alignedBytes(gemmWorkspaceBytes<float>(rows_, lines_ * c.out[2], c.groupFilters(), 1, false))) {}

  size_t workspaceBytes() const override { return (sumBytes_ + planBytes_) * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    parallelParts(threads_, c_.batch * c_.groups, [&](int64_t job) {
      one(in, out, job, static_cast<char *>(workspace) + threadSlot() * (sumBytes_ + planBytes_));
    });
  }

private:
  int64_t lines() const { return c_.out[0] * c_.out[1]; } ///< of dY in an image

  /// A group of an image.
  void one(Inputs in, Outputs out, int64_t job, char *scratch) const {
    const int64_t group = job % c_.groups, channels = c_.groupChannels(), width = c_.out[2];
    const float *gradient = static_cast<const float *>(in[results_]) + job * c_.groupFilters() * c_.outSize();
    const float *weights = static_cast<const float *>(in[weights_]) + group * c_.groupFilters() * rows_;
    const float *bias = bias_ < 0 ? nullptr : static_cast<const float *>(in[bias_]) + group * channels;
    float *result = static_cast<float *>(out[0]) + job * channels * c_.inSize();
    for (int64_t channel = 0; channel < channels; ++channel)
      std::fill_n(result + channel * c_.inSize(), c_.inSize(), bias ? bias[channel] : 0.0f);
    auto *sums = reinterpret_cast<float *>(scratch);
    for (int64_t line = 0; line < lines(); line += lines_) {
      const int64_t count = std::min(lines_, lines() - line);
      const GemmPlan plan = planGemm<float>(rows_, count * width, c_.groupFilters(), 1);
      gemm<float>(plan, Strided<float>{weights, 1, rows_},
                  Strided<float>{gradient + line * width, c_.outSize(), 1}, sums, count * width,
                  GemmStart::Zero, static_cast<const float *>(nullptr),
                  static_cast<const GemmFinish<float> *>(nullptr), scratch + sumBytes_);
      for (int64_t row = 0; row < rows_; ++row)
        spread(sums + row * count * width, line, count, row % c_.taps(),
               result + row / c_.taps() * c_.inSize());
    }
  }

  /// What a tap makes of lines of dY, to a channel of X.
  void spread(const float *sums, int64_t line, int64_t count, int64_t tap, float *plane) const {
    const Space at{tap / (c_.kernel[1] * c_.kernel[2]), tap / c_.kernel[2] % c_.kernel[1],
                   tap % c_.kernel[2]};
    const auto place = [&](int dim, int64_t q) {
      return q * c_.stride[dim] + at[dim] * c_.dilation[dim] - c_.pad[dim];
    };
    const int64_t step = c_.stride[2], shift = place(2, 0);
    const int64_t first = shift >= 0 ? 0 : std::min(c_.out[2], (-shift + step - 1) / step),
                  last = c_.in[2] <= shift ? 0 : std::min(c_.out[2], (c_.in[2] - shift + step - 1) / step);
    for (int64_t i = 0; i < count; ++i, sums += c_.out[2]) {
      const int64_t d = place(0, (line + i) / c_.out[1]), h = place(1, (line + i) % c_.out[1]);
      if (d < 0 || d >= c_.in[0] || h < 0 || h >= c_.in[1])
        continue;
      float *to = plane + (d * c_.in[1] + h) * c_.in[2] + shift;
      for (int64_t j = first; j < last; ++j)
        to[j * step] += sums[j];
    }
  }

  ConvShape c_;
  int results_, weights_, bias_, threads_;
  int64_t rows_;  ///< of a product: channels and taps
  int64_t lines_; ///< of dY in a product
  size_t sumBytes_, planBytes_;
};

} // namespace

bool isSpread(const ConvShape &c) {
  return c.groupFilters() >= kFiltersPerChannel * c.groupChannels() && c.groupChannels() > 0 &&
         c.outSize() >= kFewestPlaces && c.inSize() > 0;
}

std::unique_ptr<LibraryKernel> makeSpreadBack(const ConvShape &c, int results, int weights, int bias,
                                              int threads) {
  return std::make_unique<SpreadBack>(c, results, weights, bias, threads);
}

} // namespace kedge::rt::cpu
