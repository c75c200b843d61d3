// Panels whose source has k along its rows, with every number of lanes.
#include "runtime/cpu/gemm/TransposedRows.h"
#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

TEST(KernelTransposedRows, WriteEachElementOnceAndNothingElse) {
  const cpu::TransposedRows transposed = cpu::transposedRows();
  if (!transposed)
    GTEST_SKIP() << "the machine has no masked loads";
  constexpr int64_t kStride = 131;
  std::vector<float> source(32 * kStride);
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<float>(i);
  for (int64_t lanes = 1; lanes <= 32; ++lanes)
    for (int64_t k : {1, 15, 16, 17, 40}) {
      SCOPED_TRACE(::testing::Message() << lanes << " lanes, k = " << k);
      const int64_t width = lanes + 3;
      std::vector<float> panel(width * k + 16, -1), expected = panel;
      for (int64_t p = 0; p < k; ++p)
        for (int64_t i = 0; i < lanes; ++i)
          expected[p * width + i] = source[i * kStride + p];
      transposed(panel.data(), width, source.data(), kStride, lanes, k);
      ASSERT_EQ(panel, expected);
    }
}

} // namespace
} // namespace kedge::rt::test
