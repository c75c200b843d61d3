// Every operation that bodies of clusters are made of, in lanes and in a masked rest.
#include "test/unit/lower/EmitterHarness.h"
#include <cmath>
#include <fmt/format.h>

using namespace kedge::test;

namespace {

struct FloatOperation {
  const char *text; ///< %a and %b are f32, %r the result
  float (*exact)(float, float);
};

void PrintTo(const FloatOperation &operation, std::ostream *os) { *os << operation.text; }

class FloatOperations : public testing::TestWithParam<FloatOperation> {};

TEST_P(FloatOperations, AreLibms) {
  const int n = 45;
  Cluster cluster(fmt::format(R"(
    func.func @f(%x: tensor<{0}xf32>, %y: tensor<{0}xf32>) {{
      %z = sched.cluster domain [{0}] reduced [] (%x, %y) maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
             -> [affine_map<(i) -> (i)>] {{
        ^bb0(%a: f32, %b: f32):
          {1}
          sched.yield %r : f32
      }} : (tensor<{0}xf32>, tensor<{0}xf32>) -> tensor<{0}xf32>
      return
    }})",
                              n, GetParam().text));
  auto a = randomFloats(n, 1), b = randomFloats(n, 2);
  std::vector<float> r(n + 1, 3.f);
  cluster.run(1, a, b, r);
  for (int i = 0; i < n; ++i) {
    float exact = GetParam().exact(a[i], b[i]);
    if (std::isnan(exact))
      EXPECT_TRUE(std::isnan(r[i])) << a[i] << " " << b[i];
    else
      EXPECT_FLOAT_EQ(r[i], exact) << a[i] << " " << b[i];
  }
  EXPECT_EQ(r[n], 3.f);
}

#define UNARY(op, call)                                                                                      \
  FloatOperation {                                                                                           \
    "%r = math." op " %a : f32", [](float a, float) { return float(call); }                                  \
  }
#define BINARY(op, call)                                                                                     \
  FloatOperation {                                                                                           \
    "%r = " op " %a, %b : f32", [](float a, float b) { return float(call); }                                 \
  }
#define POWER(exponent)                                                                                      \
  FloatOperation {                                                                                           \
    "%e = arith.constant " #exponent " : f32\n%r = math.powf %a, %e : f32",                                  \
        [](float a, float) { return std::pow(a, float(exponent)); }                                          \
  }
INSTANTIATE_TEST_SUITE_P(
    All, FloatOperations,
    testing::Values(UNARY("sinh", std::sinh(a)), UNARY("cosh", std::cosh(a)), UNARY("tan", std::tan(a)),
                    UNARY("asinh", std::asinh(a)), UNARY("acosh", std::acosh(a)),
                    UNARY("atanh", std::atanh(a)), UNARY("asin", std::asin(a)), UNARY("acos", std::acos(a)),
                    UNARY("atan", std::atan(a)), UNARY("floor", std::floor(a)), UNARY("ceil", std::ceil(a)),
                    UNARY("roundeven", std::nearbyint(a)), UNARY("round", std::round(a)),
                    UNARY("trunc", std::trunc(a)), UNARY("absf", std::fabs(a)), UNARY("exp2", std::exp2(a)),
                    UNARY("log2", std::log2(a)), UNARY("log10", std::log10(a)), UNARY("cbrt", std::cbrt(a)),
                    UNARY("rsqrt", 1 / std::sqrt(a)), UNARY("erfc", std::erfc(a)),
                    BINARY("arith.remf", std::fmod(a, b)), BINARY("math.powf", std::pow(a, b)),
                    BINARY("math.atan2", std::atan2(a, b)), BINARY("arith.maximumf", std::fmax(a, b)),
                    BINARY("arith.minimumf", std::fmin(a, b)), BINARY("math.copysign", std::copysign(a, b)),
                    BINARY("arith.divf", a / b), POWER(1.0), POWER(2.0), POWER(3.0), POWER(-1.0), POWER(-2.0),
                    POWER(0.5), POWER(-0.5), POWER(1.7)));

// Conversions through every integer width, signed and unsigned, and back.
TEST(EmitterOperations, Conversions) {
  const int n = 45;
  for (int bits : {8, 16, 32, 64})
    for (bool isSigned : {true, false}) {
      Cluster cluster(fmt::format(R"(
        func.func @f(%x: tensor<{0}xf32>, %h: tensor<{0}xbf16>) {{
          %z:3 = sched.cluster domain [{0}] reduced [] (%x, %h) maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
                   -> [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] {{
            ^bb0(%a: f32, %b: bf16):
              %i = arith.{2} %a : f32 to i{1}
              %j = arith.{2} %b : bf16 to i{1}
              %s = arith.addi %i, %j : i{1}
              %f = arith.{3} %s : i{1} to f32
              %d = arith.{3} %s : i{1} to f64
              sched.yield %s, %f, %d : i{1}, f32, f64
          }} : (tensor<{0}xf32>, tensor<{0}xbf16>) -> (tensor<{0}x{4}{1}>, tensor<{0}xf32>, tensor<{0}xf64>)
          return
        }})",
                                  n, bits, isSigned ? "fptosi" : "fptoui", isSigned ? "sitofp" : "uitofp",
                                  isSigned ? "i" : "ui"));
      std::vector<float> a(n), f(n);
      std::vector<double> d(n);
      std::vector<uint16_t> b(n, 0x3f80); // 1.0
      std::vector<char> s(n * 8);
      for (int i = 0; i < n; ++i)
        a[i] = (isSigned && i % 2 ? -1.f : 1.f) * (i + 0.75f);
      cluster.run(1, a, b, s, f, d);
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(f[i], std::trunc(a[i]) + 1) << bits << isSigned;
        EXPECT_EQ(d[i], std::trunc(a[i]) + 1) << bits << isSigned;
      }
    }
}

TEST(EmitterOperations, Integers) {
  const int n = 45;
  Cluster cluster(fmt::format(R"(
    func.func @f(%x: tensor<{0}xi8>, %y: tensor<{0}xi32>) {{
      %z:2 = sched.cluster domain [{0}] reduced [] (%x, %y) maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
               -> [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] {{
        ^bb0(%a: i8, %b: i32):
          %abs = math.absi %a : i8
          %wide = arith.extsi %abs : i8 to i32
          %three = arith.constant 3 : i32
          %shifted = arith.shli %b, %three : i32
          %down = arith.shrui %shifted, %three : i32
          %sum = arith.addi %down, %wide : i32
          %rem = arith.remui %sum, %three : i32
          %max = arith.maxsi %rem, %wide : i32
          %short = arith.trunci %max : i32 to i8
          sched.yield %max, %short : i32, i8
      }} : (tensor<{0}xi8>, tensor<{0}xi32>) -> (tensor<{0}xi32>, tensor<{0}xi8>)
      return
    }})",
                              n));
  std::vector<int8_t> a(n), narrow(n);
  std::vector<int32_t> b(n), wide(n);
  for (int i = 0; i < n; ++i)
    a[i] = 5 * i - 111, b[i] = 1000003 * (i - 20);
  cluster.run(1, a, b, wide, narrow);
  for (int i = 0; i < n; ++i) {
    uint32_t down = (uint32_t(b[i]) << 3) >> 3;
    int32_t most = std::max<int32_t>((down + std::abs(a[i])) % 3, std::abs(a[i]));
    EXPECT_EQ(wide[i], most);
    EXPECT_EQ(narrow[i], int8_t(most));
  }
}

/// Selects by the bits of %c from the lowest, between the numbers of a table.
std::string tableOf(unsigned entries) {
  std::string text = "%zero = arith.constant 0 : i32\n";
  std::vector<std::string> values;
  for (unsigned k = 0; k < entries; ++k) {
    text += fmt::format("%t{0} = arith.constant {0}.5 : f32\n", k);
    values.push_back(fmt::format("%t{}", k));
  }
  for (unsigned bit = 1; values.size() > 1; bit *= 2) {
    text += fmt::format("%b{0} = arith.constant {0} : i32\n%m{0} = arith.andi %c, %b{0} : i32\n"
                        "%s{0} = arith.cmpi ne, %m{0}, %zero : i32\n",
                        bit);
    std::vector<std::string> half;
    for (size_t k = 0; k < values.size(); k += 2) {
      half.push_back(fmt::format("%v{}_{}", bit, k));
      text +=
          fmt::format("{} = arith.select %s{}, {}, {} : f32\n", half.back(), bit, values[k + 1], values[k]);
    }
    values = half;
  }
  return text + "sched.yield " + values[0] + " : f32";
}

TEST(Operations, TablesAreLookedUpByLowBits) {
  const int n = 45;
  for (unsigned entries : {4u, 8u, 16u}) {
    Cluster cluster(fmt::format(R"(
      func.func @f(%x: tensor<{0}xi32>) {{
        %y = sched.cluster domain [{0}] reduced [] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {{
          ^bb0(%c: i32):
            {1}
        }} : (tensor<{0}xi32>) -> tensor<{0}xf32>
        return
      }})",
                                n, tableOf(entries)));
    std::vector<int32_t> codes;
    for (int k = 0; k < n; ++k)
      codes.push_back(k * 7 - 90);
    std::vector<float> found(n + 1, -1.f);
    cluster.run(1, codes, found);
    for (int k = 0; k < n; ++k)
      EXPECT_EQ(found[k], static_cast<float>(codes[k] & static_cast<int>(entries - 1)) + 0.5f) << codes[k];
    EXPECT_EQ(found[n], -1.f);
  }
}

// Two elements of a code, as of two codes in a byte: both are computed in full lanes and stored interleaved.
TEST(Operations, PairsAreStoredInterleaved) {
  const int n = 96;
  std::string table = tableOf(16);
  table.replace(table.rfind("sched.yield "), std::string::npos, "");
  Cluster cluster(fmt::format(R"(
    func.func @f(%x: tensor<{1}xi32>) {{
      %y = sched.cluster domain [{0}] reduced [] (%x) maps [affine_map<(i) -> (i floordiv 2)>] -> [affine_map<(i) -> (i)>] {{
        ^bb0(%c: i32):
          {2}
          %i = sched.index 0
          %one = arith.constant 1 : i64
          %low = arith.andi %i, %one : i64
          %odd = arith.sitofp %low : i64 to f32
          %sum = arith.addf %v8_0, %odd : f32
          sched.yield %sum : f32
      }} : (tensor<{1}xi32>) -> tensor<{0}xf32>
      return
    }})",
                              n, n / 2, table));
  std::vector<int32_t> codes;
  for (int k = 0; k < n / 2; ++k)
    codes.push_back(k * 7);
  std::vector<float> found(n + 1, -1.f);
  cluster.run(1, codes, found);
  for (int k = 0; k < n; ++k)
    EXPECT_EQ(found[k], static_cast<float>((codes[k / 2] & 15) + k % 2) + 0.5f) << k;
  EXPECT_EQ(found[n], -1.f);
}
} // namespace
