// Clusters without reductions, against plain loops.
#include "test/unit/lower/EmitterHarness.h"
#include <fmt/format.h>

using namespace kedge::test;

namespace {

TEST(EmitterElementwise, ScalesAndAddsAnySize) {
  for (int n : {1, 3, 16, 17, 63, 64, 65, 770, 4096, 8193, 20001}) {
    Cluster cluster(fmt::format(R"(
      func.func @f(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>) -> tensor<{0}xf32> {{
        %y = sched.cluster domain [{0}] reduced [] (%a, %b)
             maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] -> [affine_map<(d0) -> (d0)>] {{
          ^bb0(%x: f32, %z: f32):
            %two = arith.constant 2.0 : f32
            %s = arith.mulf %x, %two : f32
            %r = arith.addf %s, %z : f32
            sched.yield %r : f32
        }} : (tensor<{0}xf32>, tensor<{0}xf32>) -> tensor<{0}xf32>
        return %y : tensor<{0}xf32>
      }})",
                                n));
    auto a = randomFloats(n, 1), b = randomFloats(n, 2);
    std::vector<float> y(n + 1, -7.f);
    cluster.run(3, a, b, y);
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(y[i], a[i] * 2.0f + b[i]) << i << " of " << n;
    EXPECT_EQ(y[n], -7.f) << "written behind the end of " << n;
  }
}

TEST(EmitterElementwise, BroadcastsAndTransposes) {
  Cluster cluster(R"(
    func.func @f(%a: tensor<37x5xf32>, %bias: tensor<37xf32>, %row: tensor<5x1xf32>) -> tensor<5x37xf32> {
      %y = sched.cluster domain [5, 37] reduced [] (%a, %bias, %row)
           maps [affine_map<(r, c) -> (c, r)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, 0)>]
             -> [affine_map<(r, c) -> (r, c)>] {
        ^bb0(%x: f32, %b: f32, %s: f32):
          %0 = arith.addf %x, %b : f32
          %1 = arith.mulf %0, %s : f32
          sched.yield %1 : f32
      } : (tensor<37x5xf32>, tensor<37xf32>, tensor<5x1xf32>) -> tensor<5x37xf32>
      return %y : tensor<5x37xf32>
    })");
  auto a = randomFloats(185, 1), bias = randomFloats(37, 2), row = randomFloats(5, 3);
  std::vector<float> y(185);
  cluster.run(2, a, bias, row, y);
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 37; ++c)
      EXPECT_EQ(y[r * 37 + c], (a[c * 5 + r] + bias[c]) * row[r]);
}

TEST(EmitterElementwise, TakesIndicesApart) {
  // [2, 3, 4 * 6] read as [2, 4, 3, 6], and an index that divides nothing evenly.
  Cluster cluster(R"(
    func.func @f(%a: tensor<2x3x24xf32>, %t: tensor<5xf32>) -> tensor<2x4x18xf32> {
      %y = sched.cluster domain [2, 4, 18] reduced [] (%a, %t)
           maps [affine_map<(b, h, p) -> (b, p floordiv 6, h * 6 + p mod 6)>, affine_map<(b, h, p) -> ((p + 1) floordiv 5)>]
             -> [affine_map<(b, h, p) -> (b, h, p)>] {
        ^bb0(%x: f32, %s: f32):
          %i = sched.index 2
          %f = arith.sitofp %i : i64 to f32
          %0 = arith.addf %x, %f : f32
          %1 = arith.addf %0, %s : f32
          sched.yield %1 : f32
      } : (tensor<2x3x24xf32>, tensor<5xf32>) -> tensor<2x4x18xf32>
      return %y : tensor<2x4x18xf32>
    })");
  auto a = randomFloats(144, 1), t = randomFloats(5, 2);
  std::vector<float> y(144);
  cluster.run(1, a, t, y);
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 4; ++h)
      for (int p = 0; p < 18; ++p)
        EXPECT_EQ(y[(b * 4 + h) * 18 + p],
                  a[(b * 3 + p / 6) * 24 + h * 6 + p % 6] + float(p) + t[(p + 1) / 5]);
}

TEST(EmitterElementwise, WritesOverItsInput) {
  Cluster cluster(R"(
    func.func @f(%a: tensor<1000xf32>) -> tensor<1000xf32> {
      %y = sched.cluster domain [1000] reduced [] (%a)
           maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
        ^bb0(%x: f32):
          %0 = arith.mulf %x, %x : f32
          sched.yield %0 : f32
      } : (tensor<1000xf32>) -> tensor<1000xf32>
      return %y : tensor<1000xf32>
    })");
  auto a = randomFloats(1000, 1), before = a;
  cluster.run(1, a, a);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(a[i], before[i] * before[i]);
}

TEST(EmitterElementwise, TransposesInTiles) {
  for (auto [rows, columns] : {std::pair(16, 16), {40, 37}, {8, 200}, {129, 64}, {35, 16}}) {
    Cluster cluster(fmt::format(R"(
      func.func @f(%a: tensor<3x{1}x{0}xf32>, %m: tensor<3x{1}x{0}xi1>, %b: tensor<{0}xf32>) {{
        %y = sched.cluster domain [3, {0}, {1}] reduced [] (%a, %m, %b)
             maps [affine_map<(n, r, c) -> (n, c, r)>, affine_map<(n, r, c) -> (n, c, r)>, affine_map<(n, r, c) -> (r)>]
               -> [affine_map<(n, r, c) -> (n, r, c)>] {{
          ^bb0(%x: f32, %k: i1, %z: f32):
            %0 = arith.addf %x, %z : f32
            %1 = arith.select %k, %0, %z : f32
            sched.yield %1 : f32
        }} : (tensor<3x{1}x{0}xf32>, tensor<3x{1}x{0}xi1>, tensor<{0}xf32>) -> tensor<3x{0}x{1}xf32>
        return
      }})",
                                rows, columns));
    const int n = 3 * rows * columns;
    auto a = randomFloats(n, 1), b = randomFloats(rows, 2);
    std::vector<uint8_t> kept(n);
    for (int i = 0; i < n; ++i)
      kept[i] = i % 5 < 2;
    std::vector<float> y(n + 1, 7.f);
    cluster.run(2, a, kept, b, y);
    for (int i = 0; i < 3; ++i)
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
          int from = (i * columns + c) * rows + r;
          ASSERT_EQ(y[(i * rows + r) * columns + c], kept[from] ? a[from] + b[r] : b[r])
              << rows << "x" << columns;
        }
    EXPECT_EQ(y[n], 7.f);
  }
}

} // namespace
