// Convolutions and their gradients as products with an implicit im2col matrix: rows of it are read from the
// image while panels are packed. onnx.ConvTranspose is the gradient of a convolution, and its gradients are
// a convolution and a gradient of the weight.
#include "runtime/calls/Types.h"
#include "runtime/cpu/ConvTaps.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
namespace {

constexpr int64_t kMostColumns = 32; // of a tile

/// Y = W * X + B, or dX = W^T dY (+ B): for every image and group a product of the filters with columns that
/// are positions of the result's space. S: element type; T: type of the tile.
template <typename S, bool Back> class ImageProduct final : public LibraryKernel {
  using T = Compute<S>;

public:
  /// `images`, `weights`, `bias`: input indices; bias -1: none.
  ImageProduct(const ConvShape &c, int images, int weights, int bias, int threads)
      : c_(c), images_(images), weights_(weights), bias_(bias), threads_(threads),
        rows_(Back ? c.groupChannels() : c.groupFilters()), columns_(Back ? c.inSize() : c.outSize()),
        depth_((Back ? c.groupFilters() : c.groupChannels()) * c.taps()),
        spread_(c.batch * c.groups >= threads),
        plan_(planGemm<T>(rows_, columns_, depth_, spread_ ? 1 : threads)),
        planBytes_(alignedBytes(plan_.workspaceBytes())),
        sumBytes_(std::is_same_v<S, T> ? 0 : alignedBytes(sizeof(T) * rows_ * columns_)) {}

  size_t workspaceBytes() const override { return (planBytes_ + sumBytes_) * (spread_ ? threads_ : 1); }

  KernelWork work() const override { return c_.work(rows_); }

  void run(Inputs in, Outputs out, void *workspace) override {
    int64_t jobs = c_.batch * c_.groups, parts = threads_;
    if (!spread_) {
      for (int64_t job = 0; job < jobs; ++job)
        one(in, out, job, static_cast<char *>(workspace), threads_);
      return;
    }
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t job = jobs * part / parts; job < jobs * (part + 1) / parts; ++job)
        one(in, out, job, static_cast<char *>(workspace) + part * (planBytes_ + sumBytes_), 1);
  }

private:
  void one(Inputs in, Outputs out, int64_t job, char *scratch, int threads) const {
    int64_t group = job % c_.groups;
    const S *image = static_cast<const S *>(in[images_]) +
                     job * (depth_ / c_.taps()) * (Back ? c_.outSize() : c_.inSize());
    const S *weights =
        static_cast<const S *>(in[weights_]) + group * c_.groupFilters() * c_.groupChannels() * c_.taps();
    S *result = static_cast<S *>(out[0]) + job * rows_ * columns_;
    T *sum;
    if constexpr (std::is_same_v<S, T>)
      sum = result;
    else
      sum = reinterpret_cast<T *>(scratch + planBytes_);
    if (bias_ >= 0 || depth_ == 0)
      startRows(bias_ < 0 ? nullptr : static_cast<const S *>(in[bias_]) + group * rows_, sum);
    if (depth_ > 0 && rows_ > 0 && columns_ > 0)
      product(image, weights, sum, scratch);
    if constexpr (!std::is_same_v<S, T>)
      parallelFor(threads, rows_ * columns_, 8192,
                  [&](int64_t begin, int64_t end) { std::copy(sum + begin, sum + end, result + begin); });
  }

  void startRows(const S *bias, T *sum) const {
    for (int64_t row = 0; row < rows_; ++row)
      std::fill_n(sum + row * columns_, columns_, bias ? static_cast<T>(bias[row]) : T(0));
  }

  void product(const S *image, const S *weights, T *sum, void *workspace) const {
    auto packA = [&](T *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
      if constexpr (Back)
        packWeightsBack(dst, width, weights, row, rows, k0, length);
      else
        packPanel(dst, width, Strided<S>{weights + row * depth_ + k0, depth_, 1}, rows, length);
    };
    auto packB = [&](T *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
      packImage(dst, width, image, column, columns, k0, length);
    };
    gemmBlocked<T>(plan_, packA, packB, sum, columns_, bias_ >= 0 ? GemmStart::Keep : GemmStart::Zero,
                   static_cast<const T *>(nullptr), static_cast<const GemmFinish<T> *>(nullptr), workspace);
  }

  /// Rows are channels, k runs over (filter, tap).
  void packWeightsBack(T *dst, int width, const S *weights, int64_t row, int64_t rows, int64_t k0,
                       int64_t length) const {
    int64_t taps = c_.taps();
    for (int64_t p = 0; p < length; ++p) {
      int64_t filter = (k0 + p) / taps, tap = (k0 + p) % taps;
      const S *source = weights + (filter * rows_ + row) * taps + tap;
      for (int64_t i = 0; i < width; ++i)
        dst[p * width + i] = i < rows ? static_cast<T>(source[i * taps]) : T(0);
    }
  }

  void packImage(T *dst, int width, const S *image, int64_t column, int64_t columns, int64_t k0,
                 int64_t length) const {
    Segment segments[kMostColumns];
    int64_t count = cutRows(Back ? c_.in : c_.out, column, columns, segments);
    int64_t plane = Back ? c_.outSize() : c_.inSize(), taps = c_.taps();
    for (int64_t p = 0; p < length; ++p, dst += width) {
      int64_t k = k0 + p, tap = k % taps, tw = tap % c_.kernel[2], th = tap / c_.kernel[2] % c_.kernel[1];
      int64_t td = tap / (c_.kernel[2] * c_.kernel[1]);
      const S *source = image + k / taps * plane;
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (Back)
          readTapBack(c_, source, segments[i], td, th, tw, dst + segments[i].at);
        else
          readTap(c_, source, segments[i], td, th, tw, dst + segments[i].at);
      }
      std::fill(dst + columns, dst + width, T(0));
    }
  }

  ConvShape c_;
  int images_, weights_, bias_, threads_;
  int64_t rows_, columns_, depth_; ///< of a product: rows x depth times depth x columns
  bool spread_;                    ///< every thread takes whole products
  GemmPlan plan_;
  size_t planBytes_, sumBytes_;
};

/// dW[filter][channel, tap] = sum over images and output positions of dY times X.
template <typename S> class WeightProduct final : public LibraryKernel {
  using T = Compute<S>;

public:
  WeightProduct(const ConvShape &c, int x, int dy, int threads)
      : c_(c), x_(x), dy_(dy), threads_(threads), rows_(c.groupFilters()),
        columns_(c.groupChannels() * c.taps()), depth_(c.batch * c.outSize()),
        spread_(c.groups >= threads && c.groups > 1),
        plan_(planGemm<T>(rows_, columns_, depth_, spread_ ? 1 : threads)),
        planBytes_(alignedBytes(plan_.workspaceBytes())),
        sumBytes_(std::is_same_v<S, T> ? 0 : alignedBytes(sizeof(T) * rows_ * columns_)) {
    // Rows of im2col that become a panel of columns, before they are turned; one such list a thread.
    rowsBytes_ = alignedBytes(sizeof(T) * kMostColumns * plan_.kBlock);
  }

  size_t workspaceBytes() const override {
    return (planBytes_ + sumBytes_) * (spread_ ? threads_ : 1) + rowsBytes_ * threads_;
  }

  KernelWork work() const override { return c_.work(rows_); }

  void run(Inputs in, Outputs out, void *workspace) override {
    char *scratch = static_cast<char *>(workspace);
    char *lists = scratch + (planBytes_ + sumBytes_) * (spread_ ? threads_ : 1);
    int64_t groups = c_.groups, parts = threads_;
    if (!spread_) {
      for (int64_t group = 0; group < groups; ++group)
        one(in, out, group, scratch, lists);
      return;
    }
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t group = groups * part / parts; group < groups * (part + 1) / parts; ++group)
        one(in, out, group, scratch + part * (planBytes_ + sumBytes_), lists);
  }

private:
  void one(Inputs in, Outputs out, int64_t group, char *scratch, char *lists) const {
    S *result = static_cast<S *>(out[0]) + group * rows_ * columns_;
    T *sum;
    if constexpr (std::is_same_v<S, T>)
      sum = result;
    else
      sum = reinterpret_cast<T *>(scratch + planBytes_);
    if (depth_ == 0)
      std::fill_n(sum, rows_ * columns_, T(0));
    else if (rows_ > 0 && columns_ > 0)
      product(static_cast<const S *>(in[x_]) + group * c_.groupChannels() * c_.inSize(),
              static_cast<const S *>(in[dy_]) + group * rows_ * c_.outSize(), sum, scratch, lists);
    if constexpr (!std::is_same_v<S, T>)
      std::copy_n(sum, rows_ * columns_, result);
  }

  void product(const S *x, const S *dy, T *sum, void *workspace, char *lists) const {
    auto packA = [&](T *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
      forImages(k0, length, [&](int64_t at, int64_t image, int64_t position, int64_t count) {
        const S *source = dy + (image * c_.filters + row) * c_.outSize() + position;
        packPanel(dst + at * width, width, Strided<S>{source, c_.outSize(), 1}, rows, count);
      });
    };
    auto packB = [&](T *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
      T *list = reinterpret_cast<T *>(lists + omp_get_thread_num() * rowsBytes_);
      for (int64_t i = 0; i < columns; ++i)
        readColumn(x, column + i, k0, length, list + i * length);
      packPanel(dst, width, Strided<T>{list, length, 1}, columns, length);
    };
    gemmBlocked<T>(plan_, packA, packB, sum, columns_, GemmStart::Zero, static_cast<const T *>(nullptr),
                   static_cast<const GemmFinish<T> *>(nullptr), workspace);
  }

  /// f(offset in the range, image, position, count) for the parts of [k0, k0 + length) in each image.
  template <typename F> void forImages(int64_t k0, int64_t length, F &&f) const {
    for (int64_t at = 0; at < length;) {
      int64_t image = (k0 + at) / c_.outSize(), position = (k0 + at) % c_.outSize();
      int64_t count = std::min(length - at, c_.outSize() - position);
      f(at, image, position, count);
      at += count;
    }
  }

  void readColumn(const S *x, int64_t column, int64_t k0, int64_t length, T *dst) const {
    int64_t channel = column / c_.taps(), tap = column % c_.taps(), tw = tap % c_.kernel[2];
    int64_t th = tap / c_.kernel[2] % c_.kernel[1], td = tap / (c_.kernel[2] * c_.kernel[1]);
    forImages(k0, length, [&](int64_t at, int64_t image, int64_t position, int64_t count) {
      const S *source = x + (image * c_.channels + channel) * c_.inSize();
      for (int64_t done = 0; done < count;) {
        Segment row;
        cutRows(c_.out, position + done, std::min(count - done, c_.out[2] - (position + done) % c_.out[2]),
                &row);
        readTap(c_, source, row, td, th, tw, dst + at + done);
        done += row.length;
      }
    });
  }

  ConvShape c_;
  int x_, dy_, threads_;
  int64_t rows_, columns_, depth_;
  bool spread_;
  GemmPlan plan_;
  size_t planBytes_, sumBytes_, rowsBytes_;
};

using Pointer = std::unique_ptr<LibraryKernel>;

/// The convolution or gradient that the call is.
Pointer makeConvolution(const LibraryCall &call, int threads) {
  const ConvRoles roles = convRolesOf(call);
  const ConvShape c = readConv(call, roles);
  const int bias = roles.bias ? inputIndex(call, 2) : -1;
  const bool back = roles.kind == ConvRoles::Kind::Data;
  if (bias >= 0)
    expectShape(call, call.inputs[bias], {back ? c.channels : c.filters}, "the bias");
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S>) -> Pointer {
    if (roles.kind == ConvRoles::Kind::Filter)
      return std::make_unique<WeightProduct<S>>(c, roles.image, roles.result, threads);
    if (back)
      return std::make_unique<ImageProduct<S, true>>(c, roles.result, roles.filter, bias, threads);
    return std::make_unique<ImageProduct<S, false>>(c, roles.image, roles.filter, bias, threads);
  });
}

} // namespace

void registerConv() {
  for (const char *name : {"onnx.Conv", "train.ConvGradInput", "train.ConvGradWeight", "onnx.ConvTranspose",
                           "train.ConvTransposeGradInput", "train.ConvTransposeGradWeight"})
    registerKernel(name, makeConvolution);
}

} // namespace kedge::rt::cpu
