// Reductions, softmax, CumSum, TopK: values, empty reductions, gradients.
#include "test/unit/math/OpHarness.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::test;

namespace {
using Doubles = std::vector<double>;

template <typename Op> OpHarness::Build over(std::vector<int64_t> axes, bool keepdims) {
  return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
    return Op::create(b, loc, in[0], axes, keepdims);
  };
}

template <typename Op> OpHarness::Build along(int64_t axis) {
  return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
    return Op::create(b, loc, in[0], b.getI64IntegerAttr(axis));
  };
}

const Input cube{{2, 3, 2}, {0.7, 1.2, 2.4, 1.9, 0.6, 3.3, 1.1, 0.4, 2.2, 1.7, 0.9, 1.4}, {}};

template <typename Op> void checkReduction(OpHarness &harness) {
  harness.checkGradient(over<Op>({1}, true), {cube});
  harness.checkGradient(over<Op>({0, 2}, false), {cube});
  harness.checkGradient(over<Op>({0, 1, 2}, false), {cube});
}
} // namespace

TEST(Reductions, GradientsEqualDifferences) {
  OpHarness harness;
  checkReduction<onnx::ReduceSumOp>(harness);
  checkReduction<onnx::ReduceMeanOp>(harness);
  checkReduction<onnx::ReduceMaxOp>(harness);
  checkReduction<onnx::ReduceMinOp>(harness);
  checkReduction<onnx::ReduceProdOp>(harness);
  checkReduction<onnx::ReduceL1Op>(harness);
  checkReduction<onnx::ReduceL2Op>(harness);
  checkReduction<onnx::ReduceLogSumOp>(harness);
  checkReduction<onnx::ReduceLogSumExpOp>(harness);
  checkReduction<onnx::ReduceSumSquareOp>(harness);
}

TEST(Reductions, Values) {
  OpHarness harness;
  Input x{{2, 2}, {1, -2, 3, 4}, {}};
  EXPECT_EQ(harness.run(over<onnx::ReduceSumOp>({1}, false), {x}), (Doubles{-1, 7}));
  EXPECT_EQ(harness.run(over<onnx::ReduceMeanOp>({0}, false), {x}), (Doubles{2, 1}));
  EXPECT_EQ(harness.run(over<onnx::ReduceMaxOp>({0, 1}, true), {x}), (Doubles{4}));
  EXPECT_EQ(harness.run(over<onnx::ReduceProdOp>({1}, true), {x}), (Doubles{-2, 12}));
  EXPECT_EQ(harness.run(over<onnx::ReduceL1Op>({1}, true), {x}), (Doubles{3, 7}));
  EXPECT_EQ(harness.run(over<onnx::ReduceL2Op>({1}, true), {x}), (Doubles{std::sqrt(5.0), 5}));
  EXPECT_EQ(harness.run(over<onnx::ReduceSumOp>({}, true), {x}), x.values);
  Input large = vectorOf({1000, 1000});
  EXPECT_NEAR(harness.run(over<onnx::ReduceLogSumExpOp>({0}, false), {large})[0], 1000 + std::log(2.0), 1e-9);
  Type u8 = harness.type("ui8");
  EXPECT_EQ(harness.run(over<onnx::ReduceMaxOp>({0}, false), {{{2}, {200, 3}, u8}}), (Doubles{200}));
  EXPECT_EQ(harness.run(over<onnx::ReduceMeanOp>({0}, false), {{{2}, {4, 3}, harness.type("i32")}}),
            (Doubles{3}));
}

TEST(Reductions, OfNothing) {
  OpHarness harness;
  Input none{{2, 0}, {}, {}};
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(harness.run(over<onnx::ReduceSumOp>({1}, false), {none}), (Doubles{0, 0}));
  EXPECT_EQ(harness.run(over<onnx::ReduceProdOp>({1}, false), {none}), (Doubles{1, 1}));
  EXPECT_EQ(harness.run(over<onnx::ReduceMaxOp>({1}, false), {none}), (Doubles{-infinity, -infinity}));
  EXPECT_EQ(harness.run(over<onnx::ReduceLogSumExpOp>({1}, false), {none}), (Doubles{-infinity, -infinity}));
}

TEST(Reductions, GradientsAtTiesAndZeros) {
  OpHarness harness;
  auto of = [&](const OpHarness::Build &build, Doubles x) {
    return harness.gradients(build, {vectorOf(x)})[0];
  };
  EXPECT_EQ(of(over<onnx::ReduceMaxOp>({0}, false), {2, 1, 2}), (Doubles{0.5, 0, 0.5}));
  EXPECT_EQ(of(over<onnx::ReduceMinOp>({0}, true), {1, 1, 2}), (Doubles{0.5, 0.5, 0}));
  EXPECT_EQ(of(over<onnx::ReduceProdOp>({0}, false), {2, 0, 3}), (Doubles{0, 6, 0}));
  EXPECT_EQ(of(over<onnx::ReduceProdOp>({0}, false), {0, 0, 3}), (Doubles{0, 0, 0}));
  EXPECT_EQ(of(over<onnx::ReduceL2Op>({0}, false), {0, 0}), (Doubles{0, 0}));
  EXPECT_EQ(of(over<onnx::ReduceL1Op>({0}, false), {0, -3}), (Doubles{0, -1}));
}

TEST(Softmax, ValuesAndGradientsAlongEveryAxis) {
  OpHarness harness;
  for (int64_t axis : {0, 1, 2}) {
    harness.checkGradient(along<onnx::SoftmaxOp>(axis), {cube});
    harness.checkGradient(along<onnx::LogSoftmaxOp>(axis), {cube});
  }
  Doubles found = harness.run(along<onnx::SoftmaxOp>(0), {vectorOf({1000, 1000 + std::log(3.0)})});
  EXPECT_NEAR(found[0], 0.25, 1e-12);
  EXPECT_NEAR(harness.run(along<onnx::LogSoftmaxOp>(0), {vectorOf({1000, 1000 + std::log(3.0)})})[1],
              std::log(0.75), 1e-12);
}

TEST(CumSum, GradientRunsBackwards) {
  OpHarness harness;
  for (bool exclusive : {false, true})
    for (bool reverse : {false, true})
      harness.checkGradient(
          [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
            return onnx::CumSumOp::create(b, loc, in[0], b.getI64IntegerAttr(1), b.getBoolAttr(exclusive),
                                          b.getBoolAttr(reverse));
          },
          {cube});
}

TEST(TopK, GradientGoesToTheChosen) {
  OpHarness harness;
  harness.checkGradient(
      [](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return onnx::TopKOp::create(b, loc, in[0], b.getI64IntegerAttr(2), b.getI64IntegerAttr(1),
                                    b.getBoolAttr(true), b.getBoolAttr(true))
            .getValues();
      },
      {cube});
}
