// onnx.MatMul and onnx.Gemm for all number types.
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/gemm/QuantizedPanels.h"
#include <cstring>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

template <typename S> Strided<S> matrixA(const BatchedMatmul &p, const S *base) {
  return p.transA ? Strided<S>{base, 1, p.m} : Strided<S>{base, p.k, 1};
}
template <typename S> Strided<S> matrixB(const BatchedMatmul &p, const S *base) {
  return p.transB ? Strided<S>{base, 1, p.k} : Strided<S>{base, p.n, 1};
}

/// Float products: S is the operands' type, T their sums', D the result's. B may be in few bits. Where D is
/// narrower than T every tile's sums are rounded to it as they are finished.
template <typename S, typename T, typename D> class FloatMatmul final : public LibraryKernel {
  static constexpr bool kRounds = !std::is_same_v<T, D>, kHasBf16Panels = kIsHalf<S>;

public:
  FloatMatmul(BatchedMatmul product, Addend addend, bool addsToResult,
              std::optional<QuantizedOperand> fewBits, int threads)
      : product_(std::move(product)), addend_(addend), addsToResult_(addsToResult),
        fewBits_(std::move(fewBits)), threads_(threads),
        broadcast_(product_.batches() > 1 && product_.batches() >= threads),
        inBf16_(runsInBf16<S>(product_.k)) {
    int64_t m = product_.m, n = product_.n, k = product_.k;
    int team = broadcast_ ? 1 : threads;
    plan_ = planGemm<T>(m, n, k, team, kRounds);
    if constexpr (kHasBf16Panels)
      if (inBf16_)
        plan_ = planGemm<Bf16PanelsOf<S>>(m, n, k, team, kRounds);
    planBytes_ = alignedBytes(gemmWorkspaceBytes<S>(m, n, k, team, kRounds));
    biasBytes_ = addend_.isBias() && !std::is_same_v<S, T> ? alignedBytes(sizeof(T) * n) : 0;
  }

  size_t workspaceBytes() const override { return biasBytes_ + planBytes_ * (broadcast_ ? threads_ : 1); }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    const S *a = static_cast<const S *>(inputs[0]);
    const S *c = addend_.index < 0 ? nullptr : static_cast<const S *>(inputs[addend_.index]);
    Right b{inputs[1], nullptr, nullptr};
    if (fewBits_)
      b.scales = static_cast<const float *>(inputs[fewBits_->scales]);
    if (fewBits_ && fewBits_->zeroPoints)
      b.zeroPoints = inputs[*fewBits_->zeroPoints];
    D *y = static_cast<D *>(outputs[0]);
    char *scratch = static_cast<char *>(workspace);
    const T *bias = readBias(c, scratch);
    scratch += biasBytes_;
    if (broadcast_) {
      parallelParts(threads_, product_.batches(),
                    [&](int64_t i) { one(a, b, c, bias, y, i, scratch + threadSlot() * planBytes_, 1); });
    } else {
      for (int64_t i = 0; i < product_.batches(); ++i)
        one(a, b, c, bias, y, i, scratch, threads_);
    }
  }

private:
  struct Right {
    const void *values; ///< or codes
    const float *scales;
    const void *zeroPoints;
  };
  struct Finish {
    const FloatMatmul *product;
    const S *c;
    D *result;
  };

  int64_t matrixElements() const { return product_.m * product_.n; }

  const T *readBias(const S *c, char *scratch) const {
    if (!addend_.isBias())
      return nullptr;
    if constexpr (std::is_same_v<S, T>) {
      return c;
    } else {
      T *wide = reinterpret_cast<T *>(scratch);
      convertRows(1, product_.n, c, product_.n, wide, product_.n);
      return wide;
    }
  }

  void one(const S *a, Right b, const S *c, const T *bias, D *y, int64_t batch, char *scratch,
           int threads) const {
    D *result = y + batch * matrixElements();
    Strided<S> left = matrixA(product_, a + product_.offsetA(batch));
    if constexpr (kRounds) {
      Finish context{this, c, result};
      GemmFinish<T> finish{finishTile, &context};
      if constexpr (std::is_same_v<D, BFloat16>)
        if (addend_.isPlain())
          finish.rounded = &result->bits, finish.roundedStride = product_.n;
      multiply(left, b, batch, static_cast<T *>(nullptr), bias, &finish, scratch);
    } else {
      if (addsToResult_ && static_cast<const void *>(c) != result)
        parallelFor(threads, product_.m, grainFor(product_.n * sizeof(T)), [&](int64_t begin, int64_t end) {
          std::memcpy(result + begin * product_.n, reinterpret_cast<const T *>(c) + begin * product_.n,
                      sizeof(T) * (end - begin) * product_.n);
        });
      multiply(left, b, batch, result, bias, nullptr, scratch);
      if (addsToResult_)
        return;
      if (!addend_.isPlain())
        parallelFor(threads, product_.m, grainFor(product_.n * sizeof(T)), [&](int64_t begin, int64_t end) {
          scaleAndAdd(result + begin * product_.n, product_.n, result + begin * product_.n, product_.n, c,
                      begin, 0, end - begin, product_.n);
        });
    }
  }

  void multiply(Strided<S> left, Right right, int64_t batch, T *sums, const T *bias,
                const GemmFinish<T> *finish, char *scratch) const {
    if constexpr (kHasBf16Panels)
      if (inBf16_)
        return multiplyIn<Bf16PanelsOf<S>>(left, right, batch, sums, bias, finish, scratch);
    multiplyIn<T>(left, right, batch, sums, bias, finish, scratch);
  }

  /// In the tile of E.
  template <typename E>
  void multiplyIn(Strided<S> left, Right right, int64_t batch, T *sums, const T *bias,
                  const GemmFinish<T> *finish, char *scratch) const {
    bias = addend_.isPlain() ? bias : nullptr;
    GemmStart start = addsToResult_ ? GemmStart::Keep : bias ? GemmStart::Bias : GemmStart::Zero;
    if constexpr (!std::is_same_v<S, double>)
      if (fewBits_) // of one matrix
        return gemmOfQuantized<E>(plan_, left,
                                  {*fewBits_, product_.transB, right.values, right.scales, right.zeroPoints},
                                  sums, product_.n, start, bias, finish, scratch);
    Strided<S> matrix = matrixB(product_, static_cast<const S *>(right.values) + product_.offsetB(batch));
    gemm<E>(plan_, left, matrix, sums, product_.n, start, bias, finish, scratch);
  }

  static void finishTile(const void *context, const T *sums, int64_t stride, int64_t row, int64_t column,
                         int64_t rows, int64_t columns) {
    const Finish &finish = *static_cast<const Finish *>(context);
    const FloatMatmul &product = *finish.product;
    T scaled[kMostTileElements];
    if (!product.addend_.isPlain()) {
      product.scaleAndAdd(sums, stride, scaled, columns, finish.c, row, column, rows, columns);
      sums = scaled, stride = columns;
    }
    const int64_t n = product.product_.n;
    convertRows(rows, columns, sums, stride, finish.result + row * n + column, n);
  }

  /// to = alpha * sums + beta * C for `rows` x `columns` elements from (row, column) on.
  void scaleAndAdd(const T *sums, int64_t sumStride, T *to, int64_t toStride, const S *c, int64_t row,
                   int64_t column, int64_t rows, int64_t columns) const {
    if (!c)
      return addScaled(sums, sumStride, to, toStride, static_cast<const T *>(nullptr), 0, 0, rows, columns);
    c += row * addend_.rowStride + column * addend_.columnStride;
    if constexpr (kIsHalf<S>)
      if (addend_.columnStride == 1 && rows * columns <= kMostTileElements) {
        T wide[kMostTileElements];
        convertRows(rows, columns, c, addend_.rowStride, wide, columns);
        return addScaled(sums, sumStride, to, toStride, wide, columns, 1, rows, columns);
      }
    addScaled(sums, sumStride, to, toStride, c, addend_.rowStride, addend_.columnStride, rows, columns);
  }

  template <typename C>
  void addScaled(const T *sums, int64_t sumStride, T *to, int64_t toStride, const C *c, int64_t rowStride,
                 int64_t columnStride, int64_t rows, int64_t columns) const {
    const T alpha = static_cast<T>(addend_.alpha), beta = static_cast<T>(addend_.beta);
    for (int64_t i = 0; i < rows; ++i, sums += sumStride, to += toStride, c += rowStride)
      if (!c)
        for (int64_t j = 0; j < columns; ++j)
          to[j] = alpha * sums[j];
      else if (columnStride == 1)
        for (int64_t j = 0; j < columns; ++j)
          to[j] = alpha * sums[j] + beta * static_cast<T>(c[j]);
      else
        for (int64_t j = 0; j < columns; ++j)
          to[j] = alpha * sums[j] + beta * static_cast<T>(c[j * columnStride]);
  }

  BatchedMatmul product_;
  Addend addend_;
  bool addsToResult_; ///< C is of the result's type, which begins with it, or lies on it
  std::optional<QuantizedOperand> fewBits_;
  int threads_;
  bool broadcast_; ///< every thread takes whole matrices
  bool inBf16_;    ///< panels of bf16 numbers
  GemmPlan plan_;
  size_t planBytes_, biasBytes_;
};

/// Integers: sums wrap as numpy's do.
template <typename T>
std::unique_ptr<LibraryKernel> integerMatmul(BatchedMatmul p, Addend addend, int threads) {
  int64_t alpha = static_cast<int64_t>(addend.alpha), beta = static_cast<int64_t>(addend.beta);
  return closure([=](Inputs inputs, Outputs outputs, void *) {
    const T *a = static_cast<const T *>(inputs[0]), *b = static_cast<const T *>(inputs[1]);
    const T *c = addend.index < 0 ? nullptr : static_cast<const T *>(inputs[addend.index]);
    T *y = static_cast<T *>(outputs[0]);
    int64_t stepK = p.transA ? p.m : 1, stepRow = p.transA ? 1 : p.k;
    int64_t stepKB = p.transB ? 1 : p.n, stepColumn = p.transB ? p.k : 1;
    parallelFor(threads, p.batches() * p.m, grainFor(p.n * (p.k + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t batch = row / p.m, i = row % p.m;
        const T *rowA = a + p.offsetA(batch) + i * stepRow, *matrixB = b + p.offsetB(batch);
        for (int64_t j = 0; j < p.n; ++j) {
          uint64_t sum = 0;
          for (int64_t q = 0; q < p.k; ++q)
            sum += static_cast<uint64_t>(rowA[q * stepK]) *
                   static_cast<uint64_t>(matrixB[q * stepKB + j * stepColumn]);
          sum *= static_cast<uint64_t>(alpha);
          if (c)
            sum += static_cast<uint64_t>(beta) *
                   static_cast<uint64_t>(c[i * addend.rowStride + j * addend.columnStride]);
          y[row * p.n + j] = static_cast<T>(sum);
        }
      }
    });
  });
}

template <typename S>
std::unique_ptr<LibraryKernel> floatMatmul(const LibraryCall &call, BatchedMatmul product, Addend addend,
                                           std::optional<QuantizedOperand> fewBits, int threads) {
  using T = Compute<S>;
  DType in = call.inputs[0].type, out = call.outputs[0].type;
  if (in == out)
    return std::make_unique<FloatMatmul<S, T, S>>(std::move(product), addend, false, std::move(fewBits),
                                                  threads);
  if (out == DType::F32 && sizeof(S) == 2)
    return std::make_unique<FloatMatmul<S, T, T>>(
        std::move(product), addend, isWideSum(call) && addend.index >= 0, std::move(fewBits), threads);
  failCall(call, "a product of {} cannot have a result of {}", dtypeName(in), dtypeName(out));
}

std::unique_ptr<LibraryKernel> makeMatmul(const LibraryCall &call, BatchedMatmul product, Addend addend,
                                          std::optional<QuantizedOperand> fewBits, int threads) {
  if (fewBits && (product.m == 0 || call.inputs[0].type == DType::F64))
    failCall(call, "a product of a weight in few bits has rows, and sums in f32");
  const bool isWide = isWideSum(call);
  for (size_t at = 0; at < call.inputs.size(); ++at)
    expectSameType(call, call.inputs[at], at < 2 || !isWide ? call.inputs[0] : call.outputs[0]);
  if (isWide && addend.index >= 0 &&
      (addend.alpha != 1 || addend.beta != 1 || addend.rowStride != product.n || addend.columnStride != 1))
    failCall(call, "a wide sum adds a C as large as the result");
  return dispatchNumber(
      call, call.inputs[0].type, [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
        if constexpr (std::is_integral_v<S>) {
          expectSameType(call, call.inputs[0], call.outputs[0]);
          return integerMatmul<S>(std::move(product), addend, threads);
        } else {
          return floatMatmul<S>(call, std::move(product), addend, std::move(fewBits), threads);
        }
      });
}

} // namespace

KEDGE_REGISTER(MatMul) {
  const auto registerMatmul = [](const char *name, BatchedMatmul (*read)(const LibraryCall &),
                                 bool hasAddend) {
    registerKernel(name, [=](const LibraryCall &given, int threads) {
      if (hasPaddedRows(given))
        failCall(given, "rows are padded for CUDA alone");
      std::optional<QuantizedOperand> fewBits = readQuantizedOperand(given);
      const LibraryCall call = fewBits ? withWholeOperand(given, *fewBits) : given;
      BatchedMatmul product = read(call);
      const Addend addend = hasAddend ? readGemmAddend(call, product) : Addend();
      return makeMatmul(call, std::move(product), addend, std::move(fewBits), threads);
    });
  };
  registerMatmul("onnx.MatMul", readMatMul, false);
  registerMatmul("onnx.Gemm", readGemm, true);
}

} // namespace kedge::rt::cpu
