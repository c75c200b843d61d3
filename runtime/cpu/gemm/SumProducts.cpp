// train.sum_products: a product whose terms are parts that are summed each by itself, then as a balanced
// tree or as a chain.
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/gemm/Gemm.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

class SumProducts final : public LibraryKernel {
public:
  SumProducts(BatchedMatmul product, const GemmPlan &plan) : product_(std::move(product)), plan_(plan) {}

  size_t workspaceBytes() const override { return plan_.workspaceBytes(); }
  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    const BatchedMatmul &p = product_;
    const auto *a = static_cast<const float *>(inputs[0]), *b = static_cast<const float *>(inputs[1]);
    const Strided<float> left = p.transA ? Strided<float>{a, 1, p.m} : Strided<float>{a, p.k, 1};
    const Strided<float> right = p.transB ? Strided<float>{b, 1, p.k} : Strided<float>{b, p.n, 1};
    gemm<float>(plan_, left, right, static_cast<float *>(outputs[0]), p.n, GemmStart::Zero,
                static_cast<const float *>(nullptr), static_cast<const GemmFinish<float> *>(nullptr),
                workspace);
  }

private:
  BatchedMatmul product_;
  GemmPlan plan_;
};

} // namespace

KEDGE_REGISTER(SumProducts) {
  registerKernel(
      "train.sum_products", [](const LibraryCall &call, int threads) -> std::unique_ptr<LibraryKernel> {
        const int64_t parts = intAttr(call, "parts", 0);
        const bool isChain = boolAttr(call, "chain", false), backwards = boolAttr(call, "backwards", false);
        BatchedMatmul product = readMatMul(call);
        const bool isPowerOfTwo = parts > 1 && (parts & (parts - 1)) == 0;
        const int64_t most = isChain ? kMostOfChain : gemmTile<float>().mostK;
        if (call.inputs[0].type != DType::F32 || call.inputs[1].type != DType::F32 ||
            call.outputs[0].type != DType::F32 || product.batches() != 1 ||
            !(isChain ? parts > 1 : isPowerOfTwo && !backwards) || parts > kMostParts ||
            product.k % parts != 0 || product.k / parts > most || product.k == 0)
          failCall(
              call,
              "matrices of f32 and a power of two of equal parts, or a chain of them, are expected, each "
              "of 1 to {} terms",
              most);
        const int64_t m = product.m, n = product.n, k = product.k;
        return std::make_unique<SumProducts>(
            std::move(product), isChain ? planGemmOfChain<float>(m, n, k, k / parts, backwards, threads)
                                        : planGemmOfParts<float>(m, n, k, parts, threads));
      });
}

} // namespace kedge::rt::cpu
