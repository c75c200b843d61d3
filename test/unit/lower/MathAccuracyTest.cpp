// f32 functions of generated kernels against libm in double, in units of the last place.
#include "test/unit/lower/EmitterHarness.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>

using namespace kedge::test;

namespace {

/// Distance in representable floats from the correctly rounded value.
double ulps(float value, double exact) {
  if (std::isnan(exact) || std::isnan(value))
    return std::isnan(exact) && std::isnan(value) ? 0 : INFINITY;
  float rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(value))
    return rounded == value ? 0 : INFINITY;
  double spacing = std::max(std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded), 0x1p-149f);
  return std::fabs(value - exact) / spacing;
}

struct Function {
  const char *name;
  double (*exact)(double);
  float low, high;
  double bound;
};

class MathAccuracy : public testing::TestWithParam<Function> {};

TEST_P(MathAccuracy, StaysWithin) {
  const Function &f = GetParam();
  const int n = 100000;
  Cluster cluster(fmt::format(R"(
    func.func @f(%a: tensor<{0}xf32>) {{
      %y = sched.cluster domain [{0}] reduced [] (%a) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {{
        ^bb0(%x: f32):
          %0 = math.{1} %x : f32
          sched.yield %0 : f32
      }} : (tensor<{0}xf32>) -> tensor<{0}xf32>
      return
    }})",
                              n, f.name));
  auto x = randomFloats(n, 5, f.low, f.high);
  // A third of them with any exponent, and the special ones.
  std::mt19937 generator(8);
  for (int i = 0; i < n; i += 3) {
    float any = std::bit_cast<float>(uint32_t(generator()));
    if (any >= f.low && any <= f.high)
      x[i] = any;
  }
  float special[] = {0.0f, -0.0f, NAN, INFINITY, -INFINITY, 1.0f, -1.0f};
  for (int i = 0; i < 7; ++i)
    x[i] = special[i];
  std::vector<float> y(n);
  cluster.run(1, x, y);
  double worst = 0;
  float where = 0;
  for (int i = 0; i < n; ++i)
    if (double error = ulps(y[i], f.exact(x[i])); error > worst)
      worst = error, where = x[i];
  EXPECT_LE(worst, f.bound) << f.name << " at " << where;
  RecordProperty("ulp", fmt::format("{:.3f}", worst));
}

INSTANTIATE_TEST_SUITE_P(
    Functions, MathAccuracy,
    testing::Values(Function{"exp", std::exp, -87, 88, 1.1}, Function{"log", std::log, 0, 1e30f, 1.1},
                    Function{"log1p", std::log1p, -0.99f, 1e4f, 2}, Function{"expm1", std::expm1, -20, 80, 2},
                    Function{"tanh", std::tanh, -12, 12, 2}, Function{"erf", std::erf, -5, 5, 2},
                    Function{"sin", std::sin, -1e5f, 1e5f, 1.5}, Function{"cos", std::cos, -1e5f, 1e5f, 1.5},
                    Function{"sin", std::sin, -1e35f, 1e35f, 1.5}, Function{"sqrt", std::sqrt, 0, 1e30f, 0.5},
                    Function{"atan", std::atan, -100, 100, 1.5}),
    [](const auto &info) { return fmt::format("{}{}", info.param.name, info.index); });

} // namespace
