// Functions of one variable and activations: values against <cmath>, gradients against differences.
#include "test/unit/math/OpHarness.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::test;

namespace {
struct FunctionCase {
  const char *name;
  OpHarness::Build build;
  std::function<double(double)> formula;
  std::vector<double> points; // away from kinks
};

template <typename Op> OpHarness::Build unary() {
  return [](OpBuilder &b, Location loc, ValueRange in) -> Value { return Op::create(b, loc, in[0]); };
}

template <typename Op> OpHarness::Build with(float first) {
  return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
    return Op::create(b, loc, in[0], b.getF32FloatAttr(first));
  };
}

template <typename Op> OpHarness::Build with(float first, float second) {
  return [=](OpBuilder &b, Location loc, ValueRange in) -> Value {
    return Op::create(b, loc, in[0], b.getF32FloatAttr(first), b.getF32FloatAttr(second));
  };
}

const std::vector<double> around{-3.7, -2.5, -1.2, -0.3, 0.2, 0.9, 1.6, 2.4, 4.1};
const std::vector<double> positive{0.1, 0.5, 1.3, 2.7, 9.2};
const std::vector<double> inside{-0.9, -0.4, 0.1, 0.7};

double clamp(double x, double low, double high) { return std::min(std::max(x, low), high); }
double softplus(double x) { return std::log1p(std::exp(x)); }

std::vector<FunctionCase> functionCases() {
  using namespace onnx;
  return {{"Neg", unary<NegOp>(), [](double x) { return -x; }, around},
          {"Abs", unary<AbsOp>(), [](double x) { return std::fabs(x); }, around},
          {"Reciprocal", unary<ReciprocalOp>(), [](double x) { return 1 / x; }, around},
          {"Sqrt", unary<SqrtOp>(), [](double x) { return std::sqrt(x); }, positive},
          {"Exp", unary<ExpOp>(), [](double x) { return std::exp(x); }, around},
          {"Log", unary<LogOp>(), [](double x) { return std::log(x); }, positive},
          {"Erf", unary<ErfOp>(), [](double x) { return std::erf(x); }, around},
          {"Sin", unary<SinOp>(), [](double x) { return std::sin(x); }, around},
          {"Cos", unary<CosOp>(), [](double x) { return std::cos(x); }, around},
          {"Tan", unary<TanOp>(), [](double x) { return std::tan(x); }, inside},
          {"Asin", unary<AsinOp>(), [](double x) { return std::asin(x); }, inside},
          {"Acos", unary<AcosOp>(), [](double x) { return std::acos(x); }, inside},
          {"Atan", unary<AtanOp>(), [](double x) { return std::atan(x); }, around},
          {"Sinh", unary<SinhOp>(), [](double x) { return std::sinh(x); }, around},
          {"Cosh", unary<CoshOp>(), [](double x) { return std::cosh(x); }, around},
          {"Asinh", unary<AsinhOp>(), [](double x) { return std::asinh(x); }, around},
          {"Acosh", unary<AcoshOp>(), [](double x) { return std::acosh(x); }, {1.2, 2.5, 7.0}},
          {"Atanh", unary<AtanhOp>(), [](double x) { return std::atanh(x); }, inside}};
}

double elu(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }

std::vector<FunctionCase> activationCases() {
  using namespace onnx;
  return {{"Relu", unary<ReluOp>(), [](double x) { return std::max(x, 0.0); }, around},
          {"Sigmoid", unary<SigmoidOp>(), [](double x) { return 1 / (1 + std::exp(-x)); }, around},
          {"Tanh", unary<TanhOp>(), [](double x) { return std::tanh(x); }, around},
          {"Softplus", unary<SoftplusOp>(), softplus, around},
          {"Softsign", unary<SoftsignOp>(), [](double x) { return x / (1 + std::fabs(x)); }, around},
          {"HardSwish", unary<HardSwishOp>(), [](double x) { return x * clamp(x / 6 + 0.5, 0, 1); }, around},
          {"Mish", unary<MishOp>(), [](double x) { return x * std::tanh(softplus(x)); }, around},
          {"LeakyRelu", with<LeakyReluOp>(0.25), [](double x) { return x > 0 ? x : 0.25 * x; }, around},
          {"Elu", with<EluOp>(1.5), [](double x) { return elu(x, 1.5); }, around},
          {"Celu", with<CeluOp>(0.5), [](double x) { return x > 0 ? x : 0.5 * std::expm1(x / 0.5); }, around},
          {"ThresholdedRelu", with<ThresholdedReluOp>(0.5), [](double x) { return x > 0.5 ? x : 0; }, around},
          {"Selu", with<SeluOp>(1.75, 1.25), [](double x) { return 1.25 * elu(x, 1.75); }, around},
          {"HardSigmoid", with<HardSigmoidOp>(0.25, 0.5),
           [](double x) { return clamp(0.25 * x + 0.5, 0, 1); }, around},
          {"Shrink", with<ShrinkOp>(0.5, 0.25),
           [](double x) { return x < -0.5  ? x + 0.25
                                 : x > 0.5 ? x - 0.25
                                           : 0; }, around}};
}

class Functions : public testing::TestWithParam<FunctionCase> {};
} // namespace

TEST_P(Functions, ValuesFollowTheFormula) {
  const FunctionCase &test = GetParam();
  OpHarness harness;
  std::vector<double> found = harness.run(test.build, {vectorOf(test.points)});
  ASSERT_EQ(found.size(), test.points.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], test.formula(test.points[i]), 1e-12 * (1 + std::fabs(found[i])))
        << "at " << test.points[i];
}

TEST_P(Functions, GradientsEqualDifferences) {
  OpHarness harness;
  harness.checkGradient(GetParam().build, {vectorOf(GetParam().points)});
}

static std::string nameOf(const testing::TestParamInfo<FunctionCase> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Math, Functions, testing::ValuesIn(functionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Activations, Functions, testing::ValuesIn(activationCases()), nameOf);

// PyTorch's choices where the derivative jumps.
TEST(Kinks, FollowPyTorch) {
  OpHarness harness;
  auto slope = [&](const OpHarness::Build &build, double x) {
    return harness.gradients(build, {vectorOf({x})})[0][0];
  };
  EXPECT_EQ(slope(unary<onnx::AbsOp>(), 0), 0);
  EXPECT_EQ(slope(unary<onnx::ReluOp>(), 0), 0);
  EXPECT_EQ(slope(with<onnx::LeakyReluOp>(0.25), 0), 0.25);
  EXPECT_EQ(slope(with<onnx::EluOp>(1.5), 0), 1.5);
  EXPECT_EQ(slope(unary<onnx::HardSwishOp>(), -3), 0);
  EXPECT_EQ(slope(unary<onnx::HardSwishOp>(), 3), 1);
  EXPECT_EQ(slope(with<onnx::HardSigmoidOp>(0.25, 0.5), 2), 0);
  EXPECT_EQ(slope(with<onnx::ThresholdedReluOp>(1), 1), 0);
  EXPECT_EQ(slope(with<onnx::ShrinkOp>(0.5, 0), 0.5), 0);
}

TEST(Functions, StepsHaveNoGradient) {
  OpHarness harness;
  for (const OpHarness::Build &build :
       {unary<onnx::SignOp>(), unary<onnx::FloorOp>(), unary<onnx::CeilOp>(), unary<onnx::RoundOp>()})
    EXPECT_TRUE(harness.gradients(build, {vectorOf({-1.5, 0.5})})[0].empty());
  EXPECT_EQ(harness.run(unary<onnx::RoundOp>(), {vectorOf({-2.5, -1.5, 0.5, 1.5})}),
            (std::vector<double>{-2, -2, 0, 2}));
  EXPECT_EQ(harness.run(unary<onnx::SignOp>(), {vectorOf({-7, 0, 3})}), (std::vector<double>{-1, 0, 1}));
}
