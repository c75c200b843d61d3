#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

/// A mean of products of random rows.
Array products(int64_t n, unsigned seed) {
  const std::vector<double> rows = Array::random<float>({n + 3, n}, seed).doubles();
  Array matrix({DType::F32, {n, n}});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t row = 0; row < n + 3; ++row)
        sum += rows[row * n + i] * rows[row * n + j];
      matrix.data<float>()[i * n + j] = static_cast<float>(sum);
    }
  return matrix;
}

std::vector<double> turned(const Array &matrix, const Array &basis, int64_t n) {
  const std::vector<double> m = matrix.doubles(), q = basis.doubles();
  std::vector<double> half(n * n), result(n * n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < n; ++k)
        half[i * n + j] += m[i * n + k] * q[k * n + j];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < n; ++k)
        result[i * n + j] += q[k * n + i] * half[k * n + j];
  return result;
}

std::vector<Array> basisOf(const Array &matrix, const Array &before, float update, int64_t n) {
  Array number({DType::F32, {}});
  number.data<float>()[0] = update;
  return runKernel("train.eigenbasis", {{"frequency", 3}}, {matrix, before, number},
                   {matrix.desc, {DType::I64, {n}}});
}

} // namespace

TEST(KernelEigenbasis, EigenvectorsByFallingEigenvalue) {
  for (const int64_t n : {1, 2, 3, 17, 33, 100}) {
    const Array matrix = products(n, 7);
    const std::vector<Array> made = basisOf(matrix, matrix, 1, n);
    const std::vector<double> values = turned(matrix, made[0], n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        if (i != j)
          EXPECT_NEAR(values[i * n + j], 0, 2e-6 * values[0]) << n;
    for (int64_t i = 1; i < n; ++i)
      EXPECT_LE(values[i * n + i], values[(i - 1) * n + i - 1] * (1 + 1e-6)) << n;
  }
}

static void refreshOf(int64_t n) {
  const Array first = products(n, 7), later = products(n, 8);
  const Array basis = basisOf(first, first, 1, n)[0];
  expectNear(basisOf(later, basis, 2, n)[0], basis.doubles(), 0);
  const std::vector<Array> made = basisOf(later, basis, 4, n);
  const std::vector<double> stretched = turned(later, basis, n);
  const int64_t *order = made[1].data<int64_t>();
  for (int64_t k = 1; k < n; ++k)
    EXPECT_GE(stretched[order[k - 1] * n + order[k - 1]], stretched[order[k] * n + order[k]]);
  std::vector<float> ones(n * n);
  for (int64_t k = 0; k < n; ++k)
    ones[k * n + k] = 1;
  const std::vector<double> found = turned(Array::of<float>({n, n}, ones), made[0], n);
  for (int64_t i = 0; i < n * n; ++i)
    EXPECT_NEAR(found[i], ones[i], 1e-6);
}

TEST(KernelEigenbasis, ARefreshSortsAndStaysOrthogonal) {
  for (const int64_t n : {1, 17, 64, 75})
    refreshOf(n);
}

/// A matrix with one direction in each of its rows and columns more than noise.
TEST(KernelLeadingBasis, TheLargestDirectionComesFirstAndStays) {
  const int64_t m = 150, n = 37, rank = 3;
  Array matrix = Array::random<float>({m, n}, 3);
  std::vector<double> left(m), right(n);
  double lengths[2] = {};
  for (int64_t i = 0; i < m; ++i)
    lengths[0] += std::pow(left[i] = std::sin(i + 1), 2);
  for (int64_t j = 0; j < n; ++j)
    lengths[1] += std::pow(right[j] = std::cos(3 * j), 2);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      matrix.data<float>()[i * n + j] =
          static_cast<float>(1e-4 * matrix.data<float>()[i * n + j] + left[i] * right[j]);
  for (const int64_t axis : {0, 1}) {
    const int64_t size = axis == 0 ? m : n;
    const Array before = Array::random<float>({size, rank}, 5);
    Array number({DType::F32, {}});
    auto basisAt = [&](float update) {
      number.data<float>()[0] = update;
      return runKernel("train.leading_basis", {{"frequency", 4}, {"axis", axis}}, {matrix, before, number},
                       {before.desc})[0];
    };
    expectNear(basisAt(2), before.doubles(), 0);
    const std::vector<double> made = basisAt(5).doubles();
    const std::vector<double> &wanted = axis == 0 ? left : right;
    const double length = std::sqrt(lengths[axis]);
    double largest = 0;
    for (const double x : wanted)
      largest = std::abs(x) > std::abs(largest) ? x : largest;
    for (int64_t i = 0; i < size; ++i)
      EXPECT_NEAR(made[i * rank], (largest < 0 ? -1 : 1) * wanted[i] / length, 1e-4) << axis << " " << i;
  }
}

} // namespace kedge::rt::test
