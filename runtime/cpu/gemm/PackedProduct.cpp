// train.pack_columns and train.packed_product: products of few rows with a matrix that many of them read,
// which is packed once. Each has the bits of a product that packs it itself.
#include "runtime/calls/Types.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/gemm/Gemm.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kColumns = 32; ///< of a panel in the tensor's shape: a multiple of every tile's columns

int64_t panelsOf(int64_t columns, int64_t each) { return (columns + each - 1) / each; }

void expectF32(const LibraryCall &call) {
  for (const auto *tensors : {&call.inputs, &call.outputs})
    for (const TensorDesc &tensor : *tensors)
      if (tensor.type != DType::F32)
        failCall(call, "expected tensors of f32");
}

std::unique_ptr<LibraryKernel> makePack(const LibraryCall &call, int threads) {
  expectCounts(call, 1, 1, 1, 1);
  expectF32(call);
  const bool transB = boolAttr(call, "transB", false);
  const Shape &shape = call.inputs[0].shape;
  if (shape.size() != 2)
    failCall(call, "expected a matrix");
  const int64_t k = shape[transB ? 1 : 0], n = shape[transB ? 0 : 1];
  expectShape(call, call.outputs[0], {panelsOf(n, kColumns), k, kColumns}, "the panels");
  return closure([=](Inputs in, Outputs out, void *) {
    const int64_t width = gemmTile<float>().columns;
    const auto *b = static_cast<const float *>(in[0]);
    auto *panels = static_cast<float *>(out[0]);
    const Strided<float> columns = transB ? Strided<float>{b, k, 1} : Strided<float>{b, 1, n};
    parallelFor(threads, panelsOf(n, width), grainFor(k * width * sizeof(float)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t panel = begin; panel < end;) {
                    float *to = panels + panel * width * k;
                    const Strided<float> from = columns.at(panel * width, 0);
                    const int64_t lanes = std::min((end - panel) * width, n - panel * width);
                    const int64_t several = packNeighbours(to, width, from, lanes, k);
                    if (several == 0)
                      packPanel(to, width, from, std::min(width, lanes), k);
                    panel += std::max<int64_t>(1, several);
                  }
                });
  });
}

class PackedProduct final : public LibraryKernel {
public:
  PackedProduct(const LibraryCall &call, int threads)
      : m_(call.inputs[0].shape[0]), k_(call.inputs[0].shape[1]), n_(call.outputs[0].shape[1]),
        hasC_(call.inputs.size() > 2), isBias_(hasC_ && call.inputs[2].shape.size() == 1), threads_(threads),
        kBlock_(planGemm<float>(m_, n_, k_, threads).kBlock), packed_(threads),
        rowsBytes_(alignedBytes(sizeof(float) * panelsOf(m_, kMostTileRows) * kMostTileRows * k_)) {}

  size_t workspaceBytes() const override { return rowsBytes_ * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    if (m_ == 0 || n_ == 0)
      return;
    std::fill(packed_.begin(), packed_.end(), 0);
    const int64_t panels = panelsOf(n_, tile_.columns);
    parallelFor(threads_, panels, grain(), [&](int64_t begin, int64_t end) {
      const float *rows = rowsOf(static_cast<const float *>(in[0]), static_cast<char *>(workspace));
      for (int64_t panel = begin; panel < end; ++panel)
        multiply(rows, static_cast<const float *>(in[1]) + panel * tile_.columns * k_,
                 hasC_ ? static_cast<const float *>(in[2]) : nullptr, static_cast<float *>(out[0]),
                 panel * tile_.columns);
    });
  }

private:
  static constexpr int64_t kMostTileRows = 12;

  /// Panels that are worth a thread.
  int64_t grain() const {
    constexpr int64_t kTerms = 1 << 18;
    return std::max<int64_t>(1, kTerms / std::max<int64_t>(1, m_ * k_ * tile_.columns));
  }

  /// The calling thread's panels of A.
  const float *rowsOf(const float *a, char *workspace) {
    auto *rows = reinterpret_cast<float *>(workspace + threadSlot() * rowsBytes_);
    if (!packed_[threadSlot()])
      for (int64_t row = 0; row < m_; row += tile_.rows) {
        const int64_t count = std::min<int64_t>(tile_.rows, m_ - row);
        packPanel(rows + row * k_, tile_.panelRows(count), Strided<float>{a + row * k_, k_, 1}, count, k_);
      }
    packed_[threadSlot()] = 1;
    return rows;
  }

  void multiply(const float *rows, const float *panel, const float *c, float *result, int64_t column) const {
    const int64_t columns = std::min<int64_t>(tile_.columns, n_ - column);
    for (int64_t pc = 0; pc < k_; pc += kBlock_)
      for (int64_t row = 0; row < m_; row += tile_.rows) {
        const int64_t count = std::min<int64_t>(tile_.rows, m_ - row);
        tile_.run(std::min(kBlock_, k_ - pc), rows + row * k_ + pc * tile_.panelRows(count),
                  panel + pc * tile_.columns, result + row * n_ + column, n_, static_cast<int>(count),
                  static_cast<int>(columns), pc > 0, isBias_ && pc == 0 ? c + column : nullptr);
      }
    if (k_ == 0)
      for (int64_t row = 0; row < m_; ++row)
        for (int64_t j = column; j < column + columns; ++j)
          result[row * n_ + j] = isBias_ ? c[j] : 0;
    if (hasC_ && !isBias_)
      for (int64_t row = 0; row < m_; ++row)
        for (int64_t j = column; j < column + columns; ++j)
          result[row * n_ + j] += c[row * n_ + j];
  }

  int64_t m_, k_, n_;
  bool hasC_, isBias_; ///< C: as large as the result, or one number per column
  int threads_;
  int64_t kBlock_;
  std::vector<char> packed_; ///< by thread: whether it has the panels of A
  size_t rowsBytes_;         ///< of a thread
  const GemmTile<float> &tile_ = gemmTile<float>();
};

std::unique_ptr<LibraryKernel> makeProduct(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 3, 1, 1);
  expectF32(call);
  const Shape &a = call.inputs[0].shape, &y = call.outputs[0].shape;
  if (a.size() != 2 || y.size() != 2)
    failCall(call, "expected matrices");
  expectShape(call, call.outputs[0], {a[0], y[1]}, "the result");
  expectShape(call, call.inputs[1], {panelsOf(y[1], kColumns), a[1], kColumns}, "the panels");
  if (call.inputs.size() > 2)
    expectShape(call, call.inputs[2], call.inputs[2].shape.size() == 1 ? Shape{y[1]} : y, "C");
  return std::make_unique<PackedProduct>(call, threads);
}

} // namespace

KEDGE_REGISTER(PackedProduct) {
  registerKernel("train.pack_columns", makePack);
  registerKernel("train.packed_product", makeProduct);
}

} // namespace kedge::rt::cpu
