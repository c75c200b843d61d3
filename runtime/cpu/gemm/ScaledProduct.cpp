// train.scaled_product: products of 8-bit floats. Numbers of both types are numbers of bf16, so operands are
// widened to that first, and the rest is a product of bf16 with another rounding of its sums.
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/format/Float8.h"
#include <array>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

using WideningTable = std::array<uint16_t, 256>;

template <typename Float8> constexpr WideningTable makeWideningTable() {
  WideningTable table{};
  for (unsigned code = 0; code < table.size(); ++code)
    table[code] = static_cast<uint16_t>(
        std::bit_cast<uint32_t>(static_cast<float>(Float8{static_cast<uint8_t>(code)})) >> 16);
  return table;
}

constexpr WideningTable kWideE4M3 = makeWideningTable<Float8E4M3>(),
                        kWideE5M2 = makeWideningTable<Float8E5M2>();

/// `Result`: BFloat16, or float.
template <typename Result> class ScaledProduct final : public LibraryKernel {
public:
  ScaledProduct(const LibraryCall &call, ScaledOperands operands, int threads)
      : product_(std::move(operands.product)), addend_(operands.addend), threads_(threads) {
    for (size_t k = 0; k < 2; ++k) {
      types_[k] = call.inputs[k].type;
      elements_[k] = call.inputs[k].elements();
    }
    const int64_t m = product_.m, n = product_.n, k = product_.k;
    inBf16Tile_ = hasBf16Tile();
    plan_ =
        inBf16Tile_ ? planGemm<uint16_t>(m, n, k, threads, true) : planGemm<float>(m, n, k, threads, true);
    planBytes_ = gemmWorkspaceBytes<BFloat16>(m, n, k, threads, true);
  }

  size_t workspaceBytes() const override { return wideBytes(0) + wideBytes(1) + planBytes_; }
  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    char *scratch = static_cast<char *>(workspace);
    const BFloat16 *a = widen(0, inputs[0], scratch);
    const BFloat16 *b = widen(1, inputs[1], scratch + wideBytes(0));
    scratch += wideBytes(0) + wideBytes(1);
    Rounding rounding{&addend_, nullptr, nullptr, product_.n, 0};
    rounding.factor = static_cast<float>(addend_.alpha) *
                      (*static_cast<const float *>(inputs[2]) * *static_cast<const float *>(inputs[3]));
    if (addend_.index >= 0)
      rounding.c = static_cast<const BFloat16 *>(inputs[addend_.index]);
    for (int64_t batch = 0; batch < product_.batches(); ++batch) {
      rounding.result = static_cast<Result *>(outputs[0]) + batch * product_.m * product_.n;
      multiply(a + product_.offsetA(batch), b + product_.offsetB(batch), rounding, scratch);
    }
  }

private:
  /// What a finished tile of sums goes through.
  struct Rounding {
    const Addend *addend;
    const BFloat16 *c;
    Result *result;
    int64_t columns;
    float factor;

    static void tile(const void *context, const float *sums, int64_t stride, int64_t row, int64_t column,
                     int64_t rows, int64_t columns) {
      const Rounding &to = *static_cast<const Rounding *>(context);
      const float beta = static_cast<float>(to.addend->beta);
      float scaled[kMostTileElements];
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          float value = to.factor * sums[i * stride + j];
          if (to.c)
            value +=
                beta * static_cast<float>(
                           to.c[(row + i) * to.addend->rowStride + (column + j) * to.addend->columnStride]);
          scaled[i * columns + j] = value;
        }
      convertRows(rows, columns, scaled, columns, to.result + row * to.columns + column, to.columns);
    }
  };

  size_t wideBytes(size_t operand) const {
    return alignedBytes(sizeof(BFloat16) * static_cast<size_t>(elements_[operand]));
  }

  const BFloat16 *widen(size_t operand, const void *codes, char *place) const {
    const WideningTable &table = types_[operand] == DType::F8E5M2 ? kWideE5M2 : kWideE4M3;
    const auto *from = static_cast<const uint8_t *>(codes);
    auto *to = reinterpret_cast<BFloat16 *>(place);
    parallelFor(threads_, elements_[operand], grainFor(3), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i].bits = table[from[i]];
    });
    return to;
  }

  void multiply(const BFloat16 *a, const BFloat16 *b, const Rounding &rounding, char *scratch) const {
    const BatchedMatmul &p = product_;
    Strided<BFloat16> left = p.transA ? Strided<BFloat16>{a, 1, p.m} : Strided<BFloat16>{a, p.k, 1};
    Strided<BFloat16> right = p.transB ? Strided<BFloat16>{b, 1, p.k} : Strided<BFloat16>{b, p.n, 1};
    const GemmFinish<float> finish{Rounding::tile, &rounding};
    float *noSums = nullptr;
    const float *noBias = nullptr;
    if (inBf16Tile_)
      gemm<uint16_t>(plan_, left, right, noSums, p.n, GemmStart::Zero, noBias, &finish, scratch);
    else
      gemm<float>(plan_, left, right, noSums, p.n, GemmStart::Zero, noBias, &finish, scratch);
  }

  BatchedMatmul product_;
  Addend addend_;
  int threads_;
  std::array<DType, 2> types_{};
  std::array<int64_t, 2> elements_{};
  bool inBf16Tile_ = false;
  GemmPlan plan_;
  size_t planBytes_ = 0;
};

} // namespace

KEDGE_REGISTER(ScaledProduct) {
  registerKernel("train.scaled_product",
                 [](const LibraryCall &call, int threads) -> std::unique_ptr<LibraryKernel> {
                   ScaledOperands operands = readScaledMatmul(call);
                   if (call.outputs[0].type == DType::F32)
                     return std::make_unique<ScaledProduct<float>>(call, std::move(operands), threads);
                   return std::make_unique<ScaledProduct<BFloat16>>(call, std::move(operands), threads);
                 });
}

} // namespace kedge::rt::cpu
