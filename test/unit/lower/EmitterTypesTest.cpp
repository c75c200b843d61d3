// Element types, random numbers, and odd shapes.
#include "runtime/format/Philox.h"
#include "test/unit/lower/EmitterHarness.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>

using namespace kedge::test;

namespace {

/// One elementwise cluster over n elements: `body` names its arguments %a, %b, ... and yields.
std::string elementwise(int n, std::vector<std::string> inputs, std::vector<std::string> outputs,
                        const std::string &body) {
  std::string map = "affine_map<(i) -> (i)>", maps, outMaps, arguments, types, outTypes, names, results;
  auto signless = [](std::string type) { return type.rfind("ui", 0) == 0 ? type.substr(1) : type; };
  auto tensor = [&](const std::string &type) { return "tensor<" + std::to_string(n) + "x" + type + ">"; };
  for (size_t at = 0; at < inputs.size(); ++at) {
    std::string separator = at ? ", " : "", name = std::string("%") + char('a' + at);
    maps += separator + map, types += separator + tensor(inputs[at]);
    arguments += separator + name + ": " + signless(inputs[at]);
    names += separator + "%in" + std::to_string(at) + ": " + tensor(inputs[at]);
  }
  std::string operands;
  for (size_t at = 0; at < inputs.size(); ++at)
    operands += (at ? ", %in" : "%in") + std::to_string(at);
  for (size_t at = 0; at < outputs.size(); ++at)
    outMaps += (at ? ", " : "") + map, outTypes += (at ? ", " : "") + tensor(outputs[at]);
  return "func.func @f(" + names + ") {\n  %y:" + std::to_string(outputs.size()) +
         " = sched.cluster domain [" + std::to_string(n) + "] reduced [] (" + operands + ") maps [" + maps +
         "] -> [" + outMaps + "] {\n  ^bb0(" + arguments + "):\n" + body + "\n  } : (" + types + ") -> (" +
         outTypes + ")\n  return\n}";
}

float fromBFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t toBFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

TEST(EmitterTypes, BFloatRoundsToNearestEven) {
  const int n = 4099;
  Cluster cluster(elementwise(n, {"bf16", "f32"}, {"bf16", "bf16"}, R"(
    %wide = arith.extf %a : bf16 to f32
    %sum = arith.addf %wide, %b : f32
    %short = arith.truncf %sum : f32 to bf16
    %direct = arith.truncf %b : f32 to bf16
    sched.yield %short, %direct : bf16, bf16)"));
  std::mt19937 generator(3);
  std::vector<uint16_t> a(n), y(n), z(n);
  std::vector<float> b(n);
  for (int i = 0; i < n; ++i)
    a[i] = toBFloat(std::bit_cast<float>(uint32_t(generator()) & 0xbfffffff)),
    b[i] = std::bit_cast<float>(uint32_t(generator()));
  cluster.run(2, a, b, y, z);
  for (int i = 0; i < n; ++i) {
    float sum = fromBFloat(a[i]) + b[i];
    if (std::isnan(sum))
      EXPECT_TRUE(std::isnan(fromBFloat(y[i])));
    else
      EXPECT_EQ(y[i], toBFloat(sum));
    EXPECT_EQ(z[i], toBFloat(b[i]));
  }
}

TEST(EmitterTypes, Half) {
  const int n = 70;
  Cluster cluster(elementwise(n, {"f16"}, {"f16", "f32"}, R"(
    %wide = arith.extf %a : f16 to f32
    %half = arith.mulf %a, %a : f16
    sched.yield %half, %wide : f16, f32)"));
  std::vector<_Float16> a(n), y(n);
  std::vector<float> wide(n);
  for (int i = 0; i < n; ++i)
    a[i] = _Float16(0.37f * i - 9);
  cluster.run(1, a, y, wide);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(float(y[i]), float(_Float16(float(a[i]) * float(a[i]))));
    EXPECT_EQ(wide[i], float(a[i]));
  }
}

TEST(EmitterTypes, BoolsAreBytes) {
  const int n = 77;
  Cluster cluster(elementwise(n, {"i1", "f32"}, {"f32", "i1"}, R"(
    %zero = arith.constant 0.0 : f32
    %kept = arith.select %a, %b, %zero : f32
    %positive = arith.cmpf ogt, %b, %zero : f32
    %both = arith.andi %a, %positive : i1
    sched.yield %kept, %both : f32, i1)"));
  std::vector<uint8_t> a(n), both(n + 1, 9);
  auto b = randomFloats(n, 4);
  std::vector<float> kept(n);
  for (int i = 0; i < n; ++i)
    a[i] = i % 3 == 0;
  cluster.run(1, a, b, kept, both);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(kept[i], a[i] ? b[i] : 0.0f);
    EXPECT_EQ(both[i], a[i] && b[i] > 0);
  }
  EXPECT_EQ(both[n], 9);
}

TEST(EmitterTypes, DivisionDoesNotTrap) {
  const int n = 21;
  Cluster cluster(elementwise(n, {"i64", "i64", "ui8"}, {"i64", "i64", "ui8"}, R"(
    %q = arith.divsi %a, %b : i64
    %r = arith.remsi %a, %b : i64
    %m = arith.maxui %c, %c : i8
    sched.yield %q, %r, %m : i64, i64, i8)"));
  std::vector<int64_t> a(n), b(n), q(n), r(n);
  std::vector<uint8_t> c(n, 200), m(n);
  for (int i = 0; i < n; ++i)
    a[i] = i * 7 - 50, b[i] = i - 10;
  a[9] = INT64_MIN;
  cluster.run(1, a, b, c, q, r, m);
  for (int i = 0; i < n; ++i)
    if (b[i] != 0) {
      EXPECT_EQ(q[i], i == 9 ? INT64_MIN : a[i] / b[i]);
      EXPECT_EQ(r[i], i == 9 ? 0 : a[i] % b[i]);
    }
  EXPECT_EQ(m, c);
}

TEST(EmitterTypes, DoublesCallLibm) {
  const int n = 37;
  Cluster cluster(elementwise(n, {"f64"}, {"f64", "f64"}, R"(
    %e = math.exp %a : f64
    %t = math.tanh %a : f64
    sched.yield %e, %t : f64, f64)"));
  std::vector<double> a(n), e(n), t(n);
  for (int i = 0; i < n; ++i)
    a[i] = i * 0.3 - 5;
  cluster.run(1, a, e, t);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(e[i], std::exp(a[i]));
    EXPECT_EQ(t[i], std::tanh(a[i]));
  }
}

TEST(EmitterTypes, RandomNumbersAreTheRuntimes) {
  // Rows of n elements, starting at row 5 of step 7 + 2^32. Rows of 21 start anywhere in a block of four
  // numbers when elements count on over rows; rows of 84 and 300 always at its beginning.
  for (int n : {21, 84, 300})
    for (bool countsOn : {false, true}) {
      Cluster cluster(fmt::format(R"(
        func.func @f(%seed: tensor<i64>, %step: tensor<i64>) {{
          %y = sched.cluster domain [3, {0}] reduced [] (%seed, %step)
               maps [affine_map<(r, c) -> ()>, affine_map<(r, c) -> ()>] -> [affine_map<(r, c) -> (r, c)>] {{
            ^bb0(%s: i64, %t: i64):
              %five = arith.constant 5 : i64
              %stride = arith.constant {1} : i64
              %i = sched.index 0
              %row = arith.addi %i, %five : i64
              %before = arith.muli %i, %stride : i64
              %j = sched.index 1
              %element = arith.addi %before, %j : i64
              %u = sched.random 11 (%s, %t, %row, %element)
              sched.yield %u : f32
          }} : (tensor<i64>, tensor<i64>) -> tensor<3x{0}xf32>
          return
        }})",
                                  n, countsOn ? n : 0));
      for (int64_t seedValue : {42l, 42l + (int64_t(9) << 32)}) {
        std::vector<int64_t> seed{seedValue}, step{7 + (int64_t(1) << 32)};
        std::vector<float> y(3 * n);
        cluster.run(1, seed, step, y);
        for (uint32_t r = 0; r < 3; ++r)
          for (uint32_t c = 0; c < uint32_t(n); ++c) {
            uint32_t element = c + (countsOn ? r * n : 0);
            auto block = kedge::rt::randomBlock(seedValue, 11, step[0], r + 5, element / 4);
            ASSERT_EQ(y[r * n + c], kedge::rt::uniform(block[element % 4])) << r << " " << c << " of " << n;
          }
      }
    }
}

TEST(EmitterTypes, ScalarsAndEmptyTensors) {
  Cluster scalar(R"(
    func.func @f(%a: tensor<f32>, %b: tensor<1x1xf32>) {
      %y = sched.cluster domain [1, 1] reduced [] (%a, %b)
           maps [affine_map<(r, c) -> ()>, affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
        ^bb0(%x: f32, %z: f32):
          %0 = arith.addf %x, %z : f32
          sched.yield %0 : f32
      } : (tensor<f32>, tensor<1x1xf32>) -> tensor<1x1xf32>
      return
    })");
  std::vector<float> a{3}, b{4}, y(1);
  scalar.run(1, a, b, y);
  EXPECT_EQ(y[0], 7);

  Cluster empty(R"(
    func.func @f(%a: tensor<4x0xf32>) {
      %y = sched.cluster domain [4, 0] reduced [1] (%a)
           maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
        ^bb0(%x: f32):
          %0 = sched.reduce max %x : f32
          sched.yield %0 : f32
      } : (tensor<4x0xf32>) -> tensor<4xf32>
      return
    })");
  std::vector<float> none, most(4);
  empty.run(1, none, most);
  EXPECT_EQ(most, std::vector<float>(4, -INFINITY));

  Cluster nothing(elementwise(0, {"f32"}, {"f32"}, "sched.yield %a : f32"));
  EXPECT_EQ(nothing.info.iterations, 0);
  nothing.run(1, none, none);
}

TEST(EmitterTypes, IntegerReductionsAndNaN) {
  Cluster cluster(R"(
    func.func @f(%a: tensor<2x100xi64>, %b: tensor<2x100xf32>, %c: tensor<2x100xui8>) {
      %y:4 = sched.cluster domain [2, 100] reduced [1] (%a, %b, %c)
           maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>]
             -> [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>] {
        ^bb0(%x: i64, %z: f32, %u: i8):
          %0 = sched.reduce add %x : i64
          %1 = sched.reduce min %z : f32
          %2 = sched.reduce umax %u : i8
          %zero = arith.constant 0 : i64
          %positive = arith.cmpi sgt, %x, %zero : i64
          %3 = sched.reduce and %positive : i1
          sched.yield %0, %1, %2, %3 : i64, f32, i8, i1
      } : (tensor<2x100xi64>, tensor<2x100xf32>, tensor<2x100xui8>) -> (tensor<2xi64>, tensor<2xf32>, tensor<2xui8>, tensor<2xi1>)
      return
    })");
  std::vector<int64_t> a(200), sum(2);
  std::vector<uint8_t> c(200), most(2), all(2);
  auto b = randomFloats(200, 6);
  std::vector<float> least(2);
  int64_t sums[2] = {0, 0};
  for (int i = 0; i < 200; ++i)
    a[i] = i + 1 + (int64_t(1) << 40), c[i] = i, sums[i / 100] += a[i];
  a[150] = -1, sums[1] -= 151 + (int64_t(1) << 40) + 1;
  b[199] = NAN;
  cluster.run(1, a, b, c, sum, least, most, all);
  EXPECT_EQ(sum[0], sums[0]);
  EXPECT_EQ(sum[1], sums[1]);
  EXPECT_EQ(least[0], *std::min_element(b.begin(), b.begin() + 100));
  EXPECT_TRUE(std::isnan(least[1]));
  EXPECT_EQ(most[1], 199);
  EXPECT_EQ(all, (std::vector<uint8_t>{1, 0}));
}

} // namespace
