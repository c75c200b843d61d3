// onnx.MatMul and onnx.Gemm for all number types.
#include "runtime/calls/Product.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
namespace {

template <typename S> Strided<S> matrixA(const Product &p, const S *base) {
  return p.transA ? Strided<S>{base, 1, p.m} : Strided<S>{base, p.k, 1};
}
template <typename S> Strided<S> matrixB(const Product &p, const S *base) {
  return p.transB ? Strided<S>{base, 1, p.k} : Strided<S>{base, p.n, 1};
}

/// Float products: S is the operands' type, T the tile's, D the result's.
template <typename S, typename T, typename D> class FloatProduct final : public LibraryKernel {
public:
  FloatProduct(Product product, Addend addend, int threads)
      : product_(std::move(product)), addend_(addend), threads_(threads),
        spread_(product_.batches() > 1 && product_.batches() >= threads),
        plan_(planGemm<T>(product_.m, product_.n, product_.k, spread_ ? 1 : threads)) {
    planBytes_ = alignedBytes(plan_.workspaceBytes());
    sumBytes_ = std::is_same_v<T, D> ? 0 : alignedBytes(sizeof(T) * matrixElements());
    biasBytes_ = addend_.isBias() && !std::is_same_v<S, T> ? alignedBytes(sizeof(T) * product_.n) : 0;
  }

  size_t workspaceBytes() const override {
    return biasBytes_ + (planBytes_ + sumBytes_) * (spread_ ? threads_ : 1);
  }

  KernelWork work() const override { return product_.work(); }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    const S *a = static_cast<const S *>(inputs[0]), *b = static_cast<const S *>(inputs[1]);
    const S *c = addend_.index < 0 ? nullptr : static_cast<const S *>(inputs[addend_.index]);
    D *y = static_cast<D *>(outputs[0]);
    char *scratch = static_cast<char *>(workspace);
    const T *bias = readBias(c, scratch);
    scratch += biasBytes_;
    if (spread_) {
      parallelParts(threads_, product_.batches(), [&](int64_t i) {
        one(a, b, c, bias, y, i, scratch + threadSlot() * (planBytes_ + sumBytes_), 1);
      });
    } else {
      for (int64_t i = 0; i < product_.batches(); ++i)
        one(a, b, c, bias, y, i, scratch, threads_);
    }
  }

private:
  int64_t matrixElements() const { return product_.m * product_.n; }

  const T *readBias(const S *c, char *scratch) const {
    if (!addend_.isBias())
      return nullptr;
    if constexpr (std::is_same_v<S, T>) {
      return c;
    } else {
      T *wide = reinterpret_cast<T *>(scratch);
      std::copy_n(c, product_.n, wide);
      return wide;
    }
  }

  void one(const S *a, const S *b, const S *c, const T *bias, D *y, int64_t batch, char *scratch,
           int threads) const {
    D *result = y + batch * matrixElements();
    T *sum;
    if constexpr (std::is_same_v<T, D>)
      sum = result;
    else
      sum = reinterpret_cast<T *>(scratch + planBytes_);
    gemm<T, S>(plan_, matrixA(product_, a + product_.offsetsA[batch]),
               matrixB(product_, b + product_.offsetsB[batch]), sum, product_.n,
               addend_.isPlain() && bias ? GemmStart::Bias : GemmStart::Zero, bias, scratch);
    if (!addend_.isPlain())
      scaleAndAdd(sum, c, threads);
    if constexpr (!std::is_same_v<T, D>)
      parallelFor(threads, matrixElements(), 8192,
                  [&](int64_t begin, int64_t end) { std::copy(sum + begin, sum + end, result + begin); });
  }

  void scaleAndAdd(T *sum, const S *c, int threads) const {
    T alpha = static_cast<T>(addend_.alpha), beta = static_cast<T>(addend_.beta);
    parallelFor(threads, product_.m, grainFor(product_.n * sizeof(T)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < product_.n; ++j) {
          T value = alpha * sum[i * product_.n + j];
          if (c)
            value += beta * static_cast<T>(c[i * addend_.rowStride + j * addend_.columnStride]);
          sum[i * product_.n + j] = value;
        }
    });
  }

  Product product_;
  Addend addend_;
  int threads_;
  bool spread_; ///< every thread takes whole matrices
  GemmPlan plan_;
  size_t planBytes_, sumBytes_, biasBytes_;
};

/// Integers: sums wrap as numpy's do.
template <typename T> std::unique_ptr<LibraryKernel> integerProduct(Product p, Addend addend, int threads) {
  int64_t alpha = static_cast<int64_t>(addend.alpha), beta = static_cast<int64_t>(addend.beta);
  return closure(p.work(), [=](Inputs inputs, Outputs outputs, void *) {
    const T *a = static_cast<const T *>(inputs[0]), *b = static_cast<const T *>(inputs[1]);
    const T *c = addend.index < 0 ? nullptr : static_cast<const T *>(inputs[addend.index]);
    T *y = static_cast<T *>(outputs[0]);
    int64_t stepK = p.transA ? p.m : 1, stepRow = p.transA ? 1 : p.k;
    int64_t stepKB = p.transB ? 1 : p.n, stepColumn = p.transB ? p.k : 1;
    parallelFor(threads, p.batches() * p.m, grainFor(p.n * (p.k + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t batch = row / p.m, i = row % p.m;
        const T *rowA = a + p.offsetsA[batch] + i * stepRow, *matrixB = b + p.offsetsB[batch];
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
std::unique_ptr<LibraryKernel> floatProduct(const LibraryCall &call, Product product, Addend addend,
                                            int threads) {
  using T = Compute<S>;
  DType in = call.inputs[0].type, out = call.outputs[0].type;
  if (in == out)
    return std::make_unique<FloatProduct<S, T, S>>(std::move(product), addend, threads);
  if (out == DType::F32 && sizeof(S) == 2)
    return std::make_unique<FloatProduct<S, T, T>>(std::move(product), addend, threads);
  failCall(call, "a product of {} cannot have a result of {}", dtypeName(in), dtypeName(out));
}

std::unique_ptr<LibraryKernel> makeProduct(const LibraryCall &call, Product product, Addend addend,
                                           int threads) {
  for (const TensorDesc &operand : call.inputs)
    expectSameType(call, operand, call.inputs[0]);
  return dispatchNumber(call, call.inputs[0].type,
                        [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
                          if constexpr (std::is_integral_v<S>) {
                            expectSameType(call, call.inputs[0], call.outputs[0]);
                            return integerProduct<S>(std::move(product), addend, threads);
                          } else {
                            return floatProduct<S>(call, std::move(product), addend, threads);
                          }
                        });
}

} // namespace

void registerMatMul() {
  registerKernel("onnx.MatMul", [](const LibraryCall &call, int threads) {
    return makeProduct(call, readMatMul(call), {}, threads);
  });
  registerKernel("onnx.Gemm", [](const LibraryCall &call, int threads) {
    Product product = readGemm(call);
    Addend addend = readGemmAddend(call, product);
    return makeProduct(call, std::move(product), addend, threads);
  });
}

} // namespace kedge::rt::cpu
