#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

struct GroupedCase {
  int64_t tokens, slots, experts, k, n;
};

const std::vector<GroupedCase> kGroupedCases = {
    {1, 1, 1, 1, 1},     {7, 2, 3, 5, 9}, {40, 2, 8, 33, 70},
    {600, 1, 2, 20, 30}, // more rows of an expert than a part has
    {1100, 1, 1, 9, 12}, // more terms than are added at once
    {5, 1, 2, 500, 800}, // more rows and columns of a matrix than a part has
    {10, 3, 4, 700, 50}, // several blocks of terms
    {0, 2, 3, 4, 5},     {4, 2, 3, 0, 5}, {4, 2, 3, 5, 0}};

/// Numbers of experts; with several, the second has no row, and one in three counts from the end.
Array someExperts(const GroupedCase &c) {
  Array experts = Array::random<int64_t>({c.tokens, c.slots}, 5, 0, static_cast<int>(c.experts - 1));
  for (int64_t i = 0; i < experts.size(); ++i) {
    int64_t &expert = experts.data<int64_t>()[i];
    if (expert == 1)
      expert = 0;
    if (i % 3 == 0)
      expert -= c.experts;
  }
  return experts;
}

/// Calls f(place, expert, row of W) for each place.
template <typename F> void forEachPlace(const GroupedCase &c, const Array &experts, F &&f) {
  for (int64_t place = 0; place < experts.size(); ++place) {
    const int64_t expert = experts.data<int64_t>()[place];
    f(place, expert < 0 ? expert + c.experts : expert);
  }
}

int64_t inMatrix(const GroupedCase &c, bool transB, int64_t expert, int64_t p, int64_t j) {
  return expert * c.k * c.n + (transB ? j * c.k + p : p * c.n + j);
}

template <typename T> void checkGrouped(const GroupedCase &c, bool transB, double tolerance) {
  const Shape matrices = transB ? Shape{c.experts, c.n, c.k} : Shape{c.experts, c.k, c.n};
  const Array x = Array::random<T>({c.tokens, c.k}, 1), w = Array::random<T>(matrices, 2),
              dY = Array::random<T>({c.tokens, c.slots, c.n}, 3), experts = someExperts(c);
  const std::vector<double> xs = x.doubles(), ws = w.doubles(), ds = dY.doubles();
  std::vector<double> y(dY.size()), dW(w.size());
  forEachPlace(c, experts, [&](int64_t place, int64_t expert) {
    for (int64_t p = 0; p < c.k; ++p)
      for (int64_t j = 0; j < c.n; ++j) {
        const int64_t at = inMatrix(c, transB, expert, p, j);
        const double number = xs[place / c.slots * c.k + p];
        y[place * c.n + j] += number * ws[at];
        dW[at] += number * ds[place * c.n + j];
      }
  });
  expectNear(runKernel1("train.grouped_matmul", {{"transB", transB}}, {x, experts, w}, dY.desc), y,
             tolerance);
  expectNear(runKernel1("train.grouped_matmul_grad", {{"transB", transB}, {"count", c.experts}},
                        {x, experts, dY}, w.desc),
             dW, tolerance);
}

template <typename T> void checkGroupedCases(double tolerance) {
  for (const GroupedCase &c : kGroupedCases)
    for (bool transB : {false, true})
      checkGrouped<T>(c, transB, tolerance);
}

TEST(KernelGrouped, FloatsOfAllSizes) {
  checkGroupedCases<float>(5e-5);
  checkGroupedCases<double>(1e-12);
  checkGroupedCases<BFloat16>(5e-5);
  checkGroupedCases<Float16>(5e-5);
}

TEST(KernelGrouped, AllInstructionSetsAgree) {
  for (cpu::Isa isa : isasOfThisMachine()) {
    const ForcedIsa forced(isa);
    checkGrouped<float>({40, 2, 8, 33, 70}, true, 5e-5);
    checkGrouped<BFloat16>({40, 2, 8, 133, 70}, false, 5e-5);
  }
}

TEST(KernelGrouped, ARowHasItsBitsInAnyCompany) {
  const int64_t k = 300, n = 90, experts = 4;
  const Array w = Array::random<float>({experts, k, n}, 2), x = Array::random<float>({50, k}, 1);
  const Array many = Array::random<int64_t>({50, 1}, 5, 0, experts - 1);
  const std::vector<float> all =
      runKernel1("train.grouped_matmul", {}, {x, many, w}, {DType::F32, {50, 1, n}}).values<float>();
  for (int64_t row : {0, 17, 49}) {
    const std::vector<float> xs = x.values<float>();
    const Array one = Array::of<float>({1, k}, {xs.begin() + row * k, xs.begin() + (row + 1) * k}),
                expert = Array::of<int64_t>({1, 1}, {many.data<int64_t>()[row]});
    const std::vector<float> own =
        runKernel1("train.grouped_matmul", {}, {one, expert, w}, {DType::F32, {1, 1, n}}).values<float>();
    EXPECT_EQ(own, std::vector<float>(all.begin() + row * n, all.begin() + (row + 1) * n)) << row;
  }
}

/// As if they were not there; their rows are zeros, whatever they had been.
TEST(KernelGrouped, PlacesWithoutAnExpertAreSkipped) {
  const int64_t k = 21, n = 34;
  const Array x = Array::random<float>({5, k}, 1), w = Array::random<float>({3, k, n}, 2),
              dY = Array::random<float>({5, 1, n}, 3), experts = Array::of<int64_t>({5, 1}, {2, 0, 3, 2, 3});
  const std::vector<float> xs = x.values<float>(), dYs = dY.values<float>();
  const auto without = [](const std::vector<float> &rows, int64_t width) { // the third and the fifth
    std::vector<float> left(rows.begin(), rows.begin() + 2 * width);
    left.insert(left.end(), rows.begin() + 3 * width, rows.begin() + 4 * width);
    return left;
  };
  const Array some = Array::of<float>({3, k}, without(xs, k)), chosen = Array::of<int64_t>({3, 1}, {2, 0, 2}),
              dSome = Array::of<float>({3, 1, n}, without(dYs, n));
  const std::vector<float> y =
      runKernel1("train.grouped_matmul", {{"skips", true}}, {x, experts, w}, dY.desc).values<float>();
  EXPECT_EQ(without(y, n),
            runKernel1("train.grouped_matmul", {}, {some, chosen, w}, dSome.desc).values<float>());
  for (int64_t row : {2, 4})
    EXPECT_EQ(std::vector<float>(y.begin() + row * n, y.begin() + (row + 1) * n), std::vector<float>(n, 0.0F))
        << row;
  EXPECT_EQ(
      runKernel1("train.grouped_matmul_grad", {{"skips", true}, {"count", 3}}, {x, experts, dY}, w.desc)
          .values<float>(),
      runKernel1("train.grouped_matmul_grad", {{"count", 3}}, {some, chosen, dSome}, w.desc).values<float>());
  EXPECT_NE(errorOf("train.grouped_matmul", {}, {x, experts, w}, {dY.desc}).find("index 3 at position 2"),
            std::string::npos);
}

TEST(KernelGrouped, ExpertsThatAreNotThereAreNamed) {
  const Array x = Array::random<float>({3, 4}, 1), w = Array::random<float>({2, 4, 5}, 2),
              experts = Array::of<int64_t>({3, 1}, {1, 2, -3});
  EXPECT_NE(errorOf("train.grouped_matmul", {}, {x, experts, w}, {{DType::F32, {3, 1, 5}}})
                .find("index 2 at position 1 is outside [-2, 2)"),
            std::string::npos);
  EXPECT_NE(errorOf("train.grouped_matmul", {}, {x, experts, w}, {{DType::F32, {3, 1, 4}}}).find("Y"),
            std::string::npos);
}

} // namespace
} // namespace kedge::rt::test
