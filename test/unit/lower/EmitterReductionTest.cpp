// Clusters with reductions, against plain loops in double.
#include "test/unit/lower/EmitterHarness.h"
#include <cmath>
#include <fmt/format.h>

using namespace kedge::test;

namespace {

const char *layerNorm = R"(
  func.func @f(%x: tensor<{0}x{1}xf32>, %g: tensor<{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}xf32>) {{
    %y:2 = sched.cluster domain [{0}, {1}] reduced [1] (%x, %g)
         maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>]
           -> [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>] {{
      ^bb0(%v: f32, %gamma: f32):
        %n = arith.constant {1}.0 : f32
        %eps = arith.constant 1.0e-5 : f32
        %one = arith.constant 1.0 : f32
        %s = sched.reduce add %v : f32
        %mean = arith.divf %s, %n : f32
        %d = arith.subf %v, %mean : f32
        %dd = arith.mulf %d, %d : f32
        %q = sched.reduce add %dd : f32
        %var = arith.divf %q, %n : f32
        %ve = arith.addf %var, %eps : f32
        %sd = math.sqrt %ve : f32
        %rstd = arith.divf %one, %sd : f32
        %h = arith.mulf %d, %rstd : f32
        %o = arith.mulf %h, %gamma : f32
        sched.yield %o, %mean : f32, f32
    }} : (tensor<{0}x{1}xf32>, tensor<{1}xf32>) -> (tensor<{0}x{1}xf32>, tensor<{0}xf32>)
    return %y#0, %y#1 : tensor<{0}x{1}xf32>, tensor<{0}xf32>
  }})";

TEST(EmitterReduction, LayerNorm) {
  for (int columns : {1, 5, 16, 63, 64, 65, 768, 770}) {
    const int rows = 7;
    Cluster cluster(fmt::format(fmt::runtime(layerNorm), rows, columns));
    auto x = randomFloats(rows * columns, 1), gamma = randomFloats(columns, 2);
    std::vector<float> y(rows * columns), mean(rows), y1(y), mean1(mean);
    cluster.run(3, x, gamma, y, mean);
    cluster.run(1, x, gamma, y1, mean1);
    EXPECT_EQ(y, y1);
    for (int r = 0; r < rows; ++r) {
      double sum = 0, squares = 0;
      for (int c = 0; c < columns; ++c)
        sum += x[r * columns + c];
      for (int c = 0; c < columns; ++c)
        squares += std::pow(x[r * columns + c] - sum / columns, 2);
      double rstd = 1 / std::sqrt(squares / columns + 1e-5);
      EXPECT_NEAR(mean[r], sum / columns, 1e-6);
      for (int c = 0; c < columns; ++c)
        ASSERT_NEAR(y[r * columns + c], (x[r * columns + c] - sum / columns) * rstd * gamma[c], 2e-5)
            << columns;
    }
  }
}

TEST(EmitterReduction, Columns) {
  for (auto [rows, columns] : {std::pair(3, 1), {100, 16}, {2500, 70}, {1024, 768}}) {
    Cluster cluster(fmt::format(R"(
      func.func @f(%x: tensor<{0}x{1}xf32>) -> (tensor<{1}xf32>, tensor<{1}xf32>) {{
        %y:2 = sched.cluster domain [{0}, {1}] reduced [0] (%x)
             maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (c)>] {{
          ^bb0(%v: f32):
            %s = sched.reduce add %v : f32
            %m = sched.reduce max %v : f32
            sched.yield %s, %m : f32, f32
        }} : (tensor<{0}x{1}xf32>) -> (tensor<{1}xf32>, tensor<{1}xf32>)
        return %y#0, %y#1 : tensor<{1}xf32>, tensor<{1}xf32>
      }})",
                                rows, columns));
    auto x = randomFloats(rows * columns, 1);
    std::vector<float> sum(columns), max(columns);
    cluster.run(2, x, sum, max);
    for (int c = 0; c < columns; ++c) {
      double total = 0;
      float most = -INFINITY;
      for (int r = 0; r < rows; ++r)
        total += x[r * columns + c], most = std::max(most, x[r * columns + c]);
      EXPECT_NEAR(sum[c], total, 1e-4);
      EXPECT_EQ(max[c], most);
    }
  }
}

TEST(EmitterReduction, OuterAndInnerDims) {
  // Batch statistics: [N, C, H, W] over all but C, with a value for every element after it.
  for (int w : {3, 14}) {
    const int n = 5, c = 6, h = 7;
    Cluster cluster(fmt::format(R"(
      func.func @f(%x: tensor<5x6x7x{0}xf32>) -> (tensor<6xf32>, tensor<5x6x7x{0}xf32>) {{
        %y:2 = sched.cluster domain [5, 6, 7, {0}] reduced [0, 2, 3] (%x)
             maps [affine_map<(n, c, h, w) -> (n, c, h, w)>]
               -> [affine_map<(n, c, h, w) -> (c)>, affine_map<(n, c, h, w) -> (n, c, h, w)>] {{
          ^bb0(%v: f32):
            %s = sched.reduce add %v : f32
            %d = arith.subf %v, %s : f32
            sched.yield %s, %d : f32, f32
        }} : (tensor<5x6x7x{0}xf32>) -> (tensor<6xf32>, tensor<5x6x7x{0}xf32>)
        return %y#0, %y#1 : tensor<6xf32>, tensor<5x6x7x{0}xf32>
      }})",
                                w));
    auto x = randomFloats(n * c * h * w, 1);
    std::vector<float> sum(c), rest(x.size());
    cluster.run(2, x, sum, rest);
    for (int channel = 0; channel < c; ++channel) {
      double total = 0;
      for (int sample = 0; sample < n; ++sample)
        for (int at = 0; at < h * w; ++at)
          total += x[(sample * c + channel) * h * w + at];
      EXPECT_NEAR(sum[channel], total, 1e-4);
      EXPECT_EQ(rest[channel * h * w], x[channel * h * w] - sum[channel]);
    }
  }
}

TEST(EmitterReduction, SoftmaxOverItsInput) {
  for (int columns : {3, 64, 100, 1031}) {
    const int rows = 5;
    Cluster cluster(fmt::format(R"(
      func.func @f(%x: tensor<{0}x{1}xf32>) {{
        %y = sched.cluster domain [{0}, {1}] reduced [1] (%x)
             maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {{
          ^bb0(%v: f32):
            %m = sched.reduce max %v : f32
            %d = arith.subf %v, %m : f32
            %e = math.exp %d : f32
            %s = sched.reduce add %e : f32
            %p = arith.divf %e, %s : f32
            sched.yield %p : f32
        }} : (tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>
        return
      }})",
                                rows, columns));
    auto x = randomFloats(rows * columns, 1, -30, 30), before = x;
    cluster.run(2, x, x);
    for (int r = 0; r < rows; ++r) {
      const float *row = &before[r * columns];
      double most = *std::max_element(row, row + columns), sum = 0;
      for (int c = 0; c < columns; ++c)
        sum += std::exp(row[c] - most);
      for (int c = 0; c < columns; ++c)
        ASSERT_NEAR(x[r * columns + c], std::exp(row[c] - most) / sum, 1e-6) << columns;
    }
  }
}

// What a masked lane holds is no element.
TEST(EmitterReduction, MaximumOfNegativeRows) {
  for (int columns : {3, 64, 100, 1031}) {
    const int rows = 5;
    Cluster cluster(fmt::format(R"(
      func.func @f(%x: tensor<{0}x{1}xf32>) {{
        %y = sched.cluster domain [{0}, {1}] reduced [1] (%x)
             maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {{
          ^bb0(%v: f32):
            %m = sched.reduce max %v : f32
            sched.yield %m : f32
        }} : (tensor<{0}x{1}xf32>) -> tensor<{0}xf32>
        return
      }})",
                                rows, columns));
    auto x = randomFloats(rows * columns, 2, -30, -1);
    std::vector<float> y(rows);
    cluster.run(2, x, y);
    for (int r = 0; r < rows; ++r)
      ASSERT_EQ(y[r], *std::max_element(&x[r * columns], &x[r * columns] + columns)) << columns;
  }
}

TEST(EmitterReduction, WholeTensorStaysAccurate) {
  const int n = 3000001;
  Cluster cluster(fmt::format(R"(
    func.func @f(%x: tensor<{0}xf32>) {{
      %y = sched.cluster domain [{0}] reduced [0] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> ()>] {{
        ^bb0(%v: f32):
          %q = arith.mulf %v, %v : f32
          %s = sched.reduce add %q : f32
          sched.yield %s : f32
      }} : (tensor<{0}xf32>) -> tensor<f32>
      return
    }})",
                              n));
  auto x = randomFloats(n, 1);
  std::vector<float> y(1);
  cluster.run(1, x, y);
  double total = 0;
  for (float v : x)
    total += double(v) * v;
  EXPECT_NEAR(y[0] / total, 1, 3e-7);
}

// What a bias' gradient looks like: one chain of additions over all rows is more than twice as far away.
TEST(EmitterReduction, LongColumnsStayAccurate) {
  const int rows = 1024, columns = 40;
  Cluster cluster(fmt::format(R"(
    func.func @f(%x: tensor<{0}x{1}xf32>) {{
      %y = sched.cluster domain [{0}, {1}] reduced [0] (%x)
           maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (c)>] {{
        ^bb0(%v: f32):
          %s = sched.reduce add %v : f32
          sched.yield %s : f32
      }} : (tensor<{0}x{1}xf32>) -> tensor<{1}xf32>
      return
    }})",
                              rows, columns));
  auto x = randomFloats(rows * columns, 1, 0, 1);
  std::vector<float> y(columns);
  cluster.run(1, x, y);
  std::vector<double> exact(columns);
  for (size_t i = 0; i < x.size(); ++i)
    exact[i % columns] += x[i];
  double error = 0;
  for (int c = 0; c < columns; ++c)
    error += std::pow(y[c] / exact[c] - 1, 2);
  EXPECT_LT(std::sqrt(error / columns), 1.2e-7);
}

// Reductions of reductions along a strided dim: what a weight gradient's norm by column looks like.
TEST(EmitterReduction, TwoReductionsOverOuterDims) {
  Cluster cluster(R"(
    func.func @f(%x: tensor<4x300x33xf32>) {
      %y = sched.cluster domain [4, 300, 33] reduced [0, 1] (%x)
           maps [affine_map<(a, b, c) -> (a, b, c)>] -> [affine_map<(a, b, c) -> (c)>] {
        ^bb0(%v: f32):
          %s = sched.reduce add %v : f32
          %n = arith.constant 1200.0 : f32
          %mean = arith.divf %s, %n : f32
          %d = arith.subf %v, %mean : f32
          %q = arith.mulf %d, %d : f32
          %t = sched.reduce add %q : f32
          sched.yield %t : f32
      } : (tensor<4x300x33xf32>) -> tensor<33xf32>
      return
    })");
  auto x = randomFloats(4 * 300 * 33, 1);
  std::vector<float> y(33);
  cluster.run(1, x, y);
  for (int c = 0; c < 33; ++c) {
    double sum = 0, squares = 0;
    for (int i = 0; i < 1200; ++i)
      sum += x[i * 33 + c];
    for (int i = 0; i < 1200; ++i)
      squares += std::pow(x[i * 33 + c] - sum / 1200, 2);
    EXPECT_NEAR(y[c] / squares, 1, 1e-6);
  }
}

} // namespace
