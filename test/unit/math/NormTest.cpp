// Statistics of normalizations, to the last bit.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "test/unit/math/OpHarness.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::test;

// Squares of integers below 2048 and the mean of two are exact in f32, so all error is the reciprocal root's.
// Root and quotient, each rounded, are up to a unit away.
TEST(Norms, ReciprocalRootIsRoundedOnce) {
  OpHarness harness;
  const int rows = 1000;
  Input x{{rows, 2}, {}, harness.type("f32")}, scale{{2}, {1, 1}, harness.type("f32")};
  for (int row = 0; row < rows; ++row)
    x.values.insert(x.values.end(), {1.0 + row * 769 % 2047, 1.0 + row * 1291 % 2047});
  std::vector<double> roots = harness.run(
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::RMSNormalizationOp::create(b, loc, in[0], in[1], b.getI64IntegerAttr(-1), harness.f32(0))
            .getInvRms();
      },
      {x, scale});
  ASSERT_EQ(roots.size(), size_t(rows));
  for (int row = 0; row < rows; ++row) {
    double a = x.values[2 * row], b = x.values[2 * row + 1], exact = 1 / std::sqrt((a * a + b * b) / 2);
    double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    EXPECT_LE(std::abs(roots[row] - exact), 0.51 * unit) << a << ", " << b;
  }
}

TEST(Norms, RowsOfZerosAndOfHugeNumbersKeepTheirLimits) {
  OpHarness harness;
  Type f32 = harness.type("f32");
  auto roots = harness.run(
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::RMSNormalizationOp::create(b, loc, in[0], in[1], b.getI64IntegerAttr(-1), harness.f32(0))
            .getInvRms();
      },
      {{{2, 2}, {0, 0, 1e30, 1e30}, f32}, {{2}, {1, 1}, f32}});
  EXPECT_EQ(roots, (std::vector<double>{INFINITY, 0}));
}
