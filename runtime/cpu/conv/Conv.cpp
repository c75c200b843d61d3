// Convolutions and their gradients as products with an implicit im2col matrix: rows of it are read from the
// image while panels are packed. onnx.ConvTranspose is the gradient of a convolution, and its gradients are
// a convolution and a gradient of the weight. Other files have what can be computed faster: depthwise ones
// (ConvDepthwise), 3x3 (ConvWinograd), gradients of strided ones (ConvStrided,
// ConvSpread), and gradients of filters of
// which there are few (ConvDots) or that read long rows (ConvBands).
#include "runtime/calls/Types.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/conv/ConvBands.h"
#include "runtime/cpu/conv/ConvDepthwise.h"
#include "runtime/cpu/conv/ConvDots.h"
#include "runtime/cpu/conv/ConvPanels.h"
#include "runtime/cpu/conv/ConvSpread.h"
#include "runtime/cpu/conv/ConvStrided.h"
#include "runtime/cpu/conv/ConvWinograd.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

/// Sums of a tile to the result: the bias of its row added, rounded once. S: type of the result.
template <typename S> struct RowFinish {
  using T = Compute<S>;
  const S *bias; ///< of the rows; null: none
  S *result;
  int64_t columns; ///< of an image's result
  int64_t image;   ///< elements from one image's result to the next, whose columns follow

  static void tile(const void *context, const T *sums, int64_t stride, int64_t row, int64_t column,
                   int64_t rows, int64_t count) {
    const RowFinish &finish = *static_cast<const RowFinish *>(context);
    S *to = finish.result + column / finish.columns * finish.image + row * finish.columns;
    for (int64_t position = column % finish.columns; count > 0; position = 0, to += finish.image) {
      const int64_t length = std::min(count, finish.columns - position);
      finish.store(sums, stride, to + position, row, rows, length);
      sums += length, count -= length;
    }
  }

  void store(const T *sums, int64_t stride, S *to, int64_t row, int64_t rows, int64_t count) const {
    if (!bias)
      return convertRows(rows, count, sums, stride, to, columns);
    T line[kMostColumns];
    for (int64_t i = 0; i < rows; ++i) {
      const T add = bias[row + i];
      for (int64_t j = 0; j < count; ++j)
        line[j] = sums[i * stride + j] + add;
      convertRows(1, count, line, kMostColumns, to + i * columns, columns);
    }
  }
};

/// Y = W * X + B, or dX = W^T dY (+ B): for every image and group a product of the filters with columns that
/// are positions of the result's space. S: element type; E: type in the tile's panels.
template <typename S, typename E, bool Back> class ImageMatmul final : public LibraryKernel {
  using T = Compute<S>;
  static constexpr bool kRounds = kIsHalf<S>;

public:
  /// `images`, `weights`, `bias`: input indices; bias -1: none.
  ImageMatmul(const ConvShape &c, int images, int weights, int bias, int threads)
      : c_(c), images_(images), weights_(weights), bias_(bias), threads_(threads),
        rows_(Back ? c.groupChannels() : c.groupFilters()), columns_(Back ? c.inSize() : c.outSize()),
        depth_((Back ? c.groupFilters() : c.groupChannels()) * c.taps()),
        joined_(c.groups == 1 && c.batch > 1 && columns_ <= kSmallPlane && bias < 0),
        broadcast_(!joined_ && c.batch * c.groups >= threads), finishes_(kRounds || joined_),
        plan_(planGemm<E>(rows_, places(), depth_, team(), finishes_)),
        planBytes_(alignedBytes(gemmWorkspaceBytes<S>(rows_, places(), depth_, team(), finishes_))) {}

  size_t workspaceBytes() const override { return planBytes_ * (broadcast_ ? threads_ : 1); }

  void run(Inputs in, Outputs out, void *workspace) override {
    int64_t jobs = joined_ ? 1 : c_.batch * c_.groups;
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
  int64_t places() const { return joined_ ? c_.batch * columns_ : columns_; } ///< columns of a product
  int team() const { return broadcast_ ? 1 : threads_; }

  /// All images, or a group of one.
  void one(Inputs in, Outputs out, int64_t job, char *scratch) const {
    int64_t group = job % c_.groups;
    const S *image = static_cast<const S *>(in[images_]) +
                     job * (depth_ / c_.taps()) * (Back ? c_.outSize() : c_.inSize());
    const S *weights =
        static_cast<const S *>(in[weights_]) + group * c_.groupFilters() * c_.groupChannels() * c_.taps();
    const S *bias = bias_ < 0 ? nullptr : static_cast<const S *>(in[bias_]) + group * rows_;
    S *result = static_cast<S *>(out[0]) + job * rows_ * columns_;
    if (depth_ == 0 || (bias && !finishes_))
      startRows(bias, result);
    if (depth_ == 0 || rows_ == 0 || columns_ == 0)
      return;
    if (finishes_) {
      RowFinish<S> context{bias, result, columns_, rows_ * columns_};
      GemmFinish<T> finish{RowFinish<S>::tile, &context};
      product(image, weights, nullptr, GemmStart::Zero, &finish, scratch);
    } else if constexpr (!kRounds) {
      product(image, weights, result, bias ? GemmStart::Keep : GemmStart::Zero, nullptr, scratch);
    }
  }

  void startRows(const S *bias, S *result) const {
    for (int64_t row = 0, rows = rows_ * (joined_ ? c_.batch : 1); row < rows; ++row)
      std::fill_n(result + row * columns_, columns_, bias ? bias[row] : S(0));
  }

  void product(const S *image, const S *weights, T *sum, GemmStart start, const GemmFinish<T> *finish,
               void *workspace) const {
    auto left = [&](E *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
      if constexpr (Back)
        packWeightsBack(dst, width, weights, row, rows, k0, length);
      else
        packA(dst, width, Strided<S>{weights + row * depth_ + k0, depth_, 1}, rows, length);
    };
    auto right = [&](E *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
      packPlaces<Back>(c_, dst, width, image, column, columns, k0, length);
    };
    gemmBlocked<E>(plan_, left, right, sum, columns_, start, static_cast<const T *>(nullptr), finish,
                   workspace);
  }

  /// Rows are channels, k runs over (filter, tap).
  void packWeightsBack(E *dst, int width, const S *weights, int64_t row, int64_t rows, int64_t k0,
                       int64_t length) const {
    int64_t taps = c_.taps();
    if (taps == 1)
      return packA(dst, width, Strided<S>{weights + k0 * rows_ + row, 1, rows_}, rows, length);
    int64_t filter = k0 / taps, tap = k0 % taps; // run on: a division takes as long as a row
    auto fill = [&](int64_t, auto *list) {
      const S *source = weights + (filter * rows_ + row) * taps + tap;
      for (int64_t i = 0; i < rows; ++i)
        list[i] = source[i * taps];
      if (++tap == taps)
        tap = 0, ++filter;
    };
    packFilled<S>(dst, width, rows, length, fill, [](auto... panel) { packA(panel...); });
  }

  ConvShape c_;
  int images_, weights_, bias_, threads_;
  int64_t rows_, columns_, depth_; ///< of an image's product: rows x depth times depth x columns
  bool joined_;                    ///< one product of all images
  bool broadcast_;                 ///< every thread takes whole products
  bool finishes_;                  ///< sums go to the result when they are complete
  GemmPlan plan_;
  size_t planBytes_;
};

/// dW[filter][channel, tap] = sum over images and output positions of dY times X. S: element type; E: type in
/// the tile's panels.
template <typename S, typename E> class WeightMatmul final : public LibraryKernel {
  using T = Compute<S>;
  using Listed = std::conditional_t<std::is_floating_point_v<E>, T, S>;
  static constexpr bool kRounds = kIsHalf<S>;

public:
  WeightMatmul(const ConvShape &c, int x, int dy, int threads)
      : c_(c), x_(x), dy_(dy), threads_(threads), rows_(c.groupFilters()),
        columns_(c.groupChannels() * c.taps()), depth_(c.batch * c.outSize()),
        broadcast_(c.groups >= threads && c.groups > 1),
        plan_(planGemm<E>(rows_, columns_, depth_, broadcast_ ? 1 : threads, kRounds)),
        planBytes_(
            alignedBytes(gemmWorkspaceBytes<S>(rows_, columns_, depth_, broadcast_ ? 1 : threads, kRounds))),
        rowsBytes_(alignedBytes(kMostColumns * gemmPanelRowBytes<S>(depth_))) {}

  size_t workspaceBytes() const override {
    return planBytes_ * (broadcast_ ? threads_ : 1) + rowsBytes_ * threads_;
  }

  void run(Inputs in, Outputs out, void *workspace) override {
    char *scratch = static_cast<char *>(workspace);
    char *lists = scratch + planBytes_ * (broadcast_ ? threads_ : 1);
    int64_t groups = c_.groups;
    if (!broadcast_) {
      for (int64_t group = 0; group < groups; ++group)
        one(in, out, group, scratch, lists);
      return;
    }
    parallelParts(threads_, groups,
                  [&](int64_t group) { one(in, out, group, scratch + threadSlot() * planBytes_, lists); });
  }

private:
  void one(Inputs in, Outputs out, int64_t group, char *scratch, char *lists) const {
    S *result = static_cast<S *>(out[0]) + group * rows_ * columns_;
    const S *x = static_cast<const S *>(in[x_]) + group * c_.groupChannels() * c_.inSize();
    const S *dy = static_cast<const S *>(in[dy_]) + group * rows_ * c_.outSize();
    if (depth_ == 0)
      std::fill_n(result, rows_ * columns_, S(0));
    if (depth_ == 0 || rows_ == 0 || columns_ == 0)
      return;
    if constexpr (kRounds) {
      RowFinish<S> context{nullptr, result, columns_, 0};
      GemmFinish<T> finish{RowFinish<S>::tile, &context};
      product(x, dy, nullptr, &finish, scratch, lists);
    } else {
      product(x, dy, result, nullptr, scratch, lists);
    }
  }

  /// The calling thread's rows of im2col that become a panel, before they are turned.
  Listed *listOf(char *lists) const { return reinterpret_cast<Listed *>(lists + threadSlot() * rowsBytes_); }

  void product(const S *x, const S *dy, T *sum, const GemmFinish<T> *finish, void *workspace,
               char *lists) const {
    auto left = [&](E *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
      packPlanes<true>(dst, width, dy, c_.filters, row, rows, k0, length, lists);
    };
    auto right = [&](E *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
      if (readsOwnPlace(c_))
        return packPlanes<false>(dst, width, x, c_.channels, column, columns, k0, length, lists);
      Listed *list = listOf(lists);
      for (int64_t i = 0; i < columns; ++i)
        readColumn(x, column + i, k0, length, list + i * length);
      packB(dst, width, Strided<Listed>{list, length, 1}, columns, length);
    };
    gemmBlocked<E>(plan_, left, right, sum, columns_, GemmStart::Zero, static_cast<const T *>(nullptr),
                   finish, workspace);
  }

  /// A panel whose lanes are planes of the size of results, `planes` an image.
  template <bool Left>
  void packPlanes(E *dst, int width, const S *base, int64_t planes, int64_t row, int64_t rows, int64_t k0,
                  int64_t length, char *lists) const {
    auto rowsAt = [&](int64_t image, int64_t position) {
      return base + (image * planes + row) * c_.outSize() + position;
    };
    if constexpr (!std::is_floating_point_v<E>) {
      // A piece of an image may begin anywhere in the k's that the tile takes at once.
      Listed *list = listOf(lists);
      forImages(k0, length, [&](int64_t at, int64_t image, int64_t position, int64_t count) {
        convertRows(rows, count, rowsAt(image, position), c_.outSize(), list + at, length);
      });
      const Strided<S> lanes{list, length, 1};
      Left ? packA(dst, width, lanes, rows, length) : packB(dst, width, lanes, rows, length);
    } else {
      forImages(k0, length, [&](int64_t at, int64_t image, int64_t position, int64_t count) {
        packPanel(dst + at * width, width, Strided<S>{rowsAt(image, position), c_.outSize(), 1}, rows, count);
      });
    }
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

  void readColumn(const S *x, int64_t column, int64_t k0, int64_t length, Listed *dst) const {
    int64_t channel = column / c_.taps(), tap = column % c_.taps(), tw = tap % c_.kernel[2];
    int64_t th = tap / c_.kernel[2] % c_.kernel[1], td = tap / (c_.kernel[2] * c_.kernel[1]);
    forImages(k0, length, [&](int64_t at, int64_t image, int64_t position, int64_t count) {
      const S *source = x + (image * c_.channels + channel) * c_.inSize();
      if (isFlatAndSame(c_))
        return readNeighbours(c_, source, th, tw, position, count, dst + at);
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
  bool broadcast_;
  GemmPlan plan_;
  size_t planBytes_, rowsBytes_;
};

using Pointer = std::unique_ptr<LibraryKernel>;

/// Terms of an element of the result.
int64_t productDepth(ConvRoles::Kind kind, const ConvShape &c) {
  if (kind == ConvRoles::Kind::Filter)
    return c.batch * c.outSize();
  return (kind == ConvRoles::Kind::Data ? c.groupFilters() : c.groupChannels()) * c.taps();
}

/// The convolution or gradient that the call is.
Pointer makeConvolution(const LibraryCall &call, int threads) {
  const ConvRoles roles = convRolesOf(call);
  const ConvShape c = readConv(call, roles).withLongRows();
  const int bias = roles.bias ? inputIndex(call, 2) : -1;
  const bool back = roles.kind == ConvRoles::Kind::Data;
  if (bias >= 0)
    expectShape(call, call.inputs[bias], {back ? c.channels : c.filters}, "the bias");
  if (c.isDepthwise())
    return makeDepthwise(call, c, roles, bias, threads);
  if (back && c.stride != Space{1, 1, 1} && call.outputs[0].type == DType::F32 && isSpread(c))
    return makeSpreadBack(c, roles.result, roles.filter, bias, threads);
  if (back && c.stride != Space{1, 1, 1})
    return makeStridedBack(call, c, roles.result, roles.filter, bias, threads);
  if (roles.kind != ConvRoles::Kind::Filter && call.outputs[0].type == DType::F32 && isWinograd(c, back))
    return makeWinograd(c, back, back ? roles.result : roles.image, roles.filter, bias, threads);
  if (roles.kind == ConvRoles::Kind::Filter && call.outputs[0].type == DType::F32 && isWinogradFilter(c))
    return makeWinogradFilter(c, roles.image, roles.result, threads);
  const bool isWhole = call.outputs[0].type == DType::F32 || call.outputs[0].type == DType::F64;
  if (roles.kind == ConvRoles::Kind::Filter && isWhole && isDots(c))
    return makeDotFilterGradient(call, c, roles.image, roles.result, threads);
  // Machines with dot products of bf16 multiply that type faster, and a plan holds for all machines.
  if (roles.kind == ConvRoles::Kind::Filter && isBanded(c) && call.outputs[0].type != DType::BF16)
    return makeBandedFilterGradient(call, c, roles.image, roles.result, threads);
  auto make = [&]<typename S, typename E>(TypeTag<S>, TypeTag<E>) -> Pointer {
    if (roles.kind == ConvRoles::Kind::Filter)
      return std::make_unique<WeightMatmul<S, E>>(c, roles.image, roles.result, threads);
    if (back)
      return std::make_unique<ImageMatmul<S, E, true>>(c, roles.result, roles.filter, bias, threads);
    return std::make_unique<ImageMatmul<S, E, false>>(c, roles.image, roles.filter, bias, threads);
  };
  return dispatchFloat(call, call.outputs[0].type, [&]<typename S>(TypeTag<S> type) -> Pointer {
    if constexpr (kIsHalf<S>)
      if (runsInBf16<S>(productDepth(roles.kind, c)))
        return make(type, TypeTag<Bf16PanelsOf<S>>{});
    return make(type, TypeTag<Compute<S>>{});
  });
}

} // namespace

KEDGE_REGISTER(Conv) {
  for (const char *name :
       {"onnx.Conv", "train.conv_grad_input", "train.conv_grad_weight", "onnx.ConvTranspose",
        "train.conv_transpose_grad_input", "train.conv_transpose_grad_weight"})
    registerKernel(name, makeConvolution);
}

} // namespace kedge::rt::cpu
