#include "test/unit/kernels/KernelTest.h"
#include <cstdlib>
#include <memory>

namespace kedge::rt::test {
namespace {

struct Sizes {
  int64_t m, n, k;
};

template <typename T>
std::vector<double> naive(const Array &a, const Array &b, Sizes s, bool transA, bool transB) {
  std::vector<double> y(s.m * s.n);
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j)
      for (int64_t p = 0; p < s.k; ++p)
        y[i * s.n + j] += static_cast<double>(a.data<T>()[transA ? p * s.m + i : i * s.k + p]) *
                          static_cast<double>(b.data<T>()[transB ? j * s.k + p : p * s.n + j]);
  return y;
}

template <typename T> void checkProducts(double tolerance) {
  for (Sizes s : {Sizes{1, 1, 1},
                  {5, 7, 3},
                  {12, 32, 8},
                  {13, 33, 9},
                  {64, 96, 130},
                  {100, 70, 515},
                  {110, 330, 40}, // more than four panels of each side, which are packed at once
                  {0, 3, 4},
                  {3, 0, 4},
                  {3, 4, 0},
                  {1, 65, 400},
                  {130, 1, 33}})
    for (int mode = 0; mode < 4; ++mode) {
      bool transA = mode & 1, transB = mode & 2;
      Array a = Array::random<T>(transA ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1);
      Array b = Array::random<T>(transB ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
      Array y = runKernel1("onnx.MatMul", {{"transA", transA}, {"transB", transB}}, {a, b},
                           {dtypeOf<T>(), {s.m, s.n}});
      expectNear(y, naive<T>(a, b, s, transA, transB), tolerance);
    }
}

TEST(KernelMatMul, FloatsOfAllSizesAndLayouts) {
  checkProducts<float>(3e-5);
  checkProducts<double>(1e-13);
  checkProducts<BFloat16>(3e-5);
  checkProducts<Float16>(3e-5);
}

/// The norm of the error, of that of the exact values.
double relativeError(const Array &values, const std::vector<double> &exact) {
  double error = 0, size = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(values.data<float>()[i] - exact[i], 2);
    size += exact[i] * exact[i];
  }
  return std::sqrt(error / size);
}

// The error grows with the longest chain of additions: chains of 384 are twice, one of all k four times as
// far away.
TEST(KernelMatMul, LongSumsStayAccurate) {
  Sizes s{48, 64, 1536};
  Array a = Array::random<float>({s.m, s.k}, 1), b = Array::random<float>({s.k, s.n}, 2);
  Array y = runKernel1("onnx.MatMul", {}, {a, b}, {DType::F32, {s.m, s.n}});
  EXPECT_LT(relativeError(y, naive<float>(a, b, s, false, false)), 2.2e-7);
}

TEST(KernelMatMul, IntegersAreExact) {
  checkProducts<int32_t>(0);
  checkProducts<int64_t>(0);
}

TEST(KernelMatMul, NarrowOperandsMayHaveAWideResult) {
  Array a = Array::random<BFloat16>({30, 300}, 1), b = Array::random<BFloat16>({300, 40}, 2);
  Array y = runKernel1("onnx.MatMul", {}, {a, b}, {DType::F32, {30, 40}});
  expectNear(y, naive<BFloat16>(a, b, {30, 40, 300}, false, false), 1e-5);
}

TEST(KernelMatMul, ProductsOfF16KeepAllBits) {
  for (int64_t k : {31, 32, 300, 1100})
    for (bool transA : {false, true})
      for (bool transB : {false, true}) {
        Array a = Array::random<Float16>(transA ? Shape{k, 70} : Shape{70, k}, 1),
              b = Array::random<Float16>(transB ? Shape{100, k} : Shape{k, 100}, 2);
        Array y = runKernel1("onnx.Gemm", {{"transA", transA}, {"transB", transB}}, {a, b},
                             {DType::F32, {70, 100}});
        EXPECT_LT(relativeError(y, naive<Float16>(a, b, {70, 100, k}, transA, transB)), 2.2e-7);
      }
}

TEST(KernelMatMul, AnInfiniteF16MakesInfiniteSums) {
  const int64_t m = 40, n = 50, k = 200;
  Array a = Array::random<Float16>({m, k}, 1), b = Array::random<Float16>({k, n}, 2);
  a.data<Float16>()[3 * k + 150] = Float16(INFINITY);
  b.data<Float16>()[7 * n + 41] = Float16(-INFINITY);
  b.data<Float16>()[9 * n + 42] = Float16(NAN);
  a.data<Float16>()[5 * k + 7] = Float16(0.0f);
  for (int64_t j = 0; j < n; ++j)
    b.data<Float16>()[150 * n + j] = Float16(j % 2 ? 2.0f : -1.0f); // with a second half of zero
  const std::vector<double> expected = naive<Float16>(a, b, {m, n, k}, false, false);
  const std::vector<float> sums = runKernel1("onnx.MatMul", {}, {a, b}, {DType::F32, {m, n}}).values<float>();
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(expected[i]))
      EXPECT_NEAR(sums[i], expected[i], 2e-6 * k) << i;
    else if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(sums[i])) << i;
    else
      EXPECT_EQ(sums[i], expected[i]) << i;
}

TEST(KernelMatMul, BatchesBroadcast) {
  Array a = Array::random<float>({2, 1, 4, 5}, 1), b = Array::random<float>({3, 5, 6}, 2);
  Array y = runKernel1("onnx.MatMul", {}, {a, b}, {DType::F32, {2, 3, 4, 6}});
  std::vector<double> expected;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      std::vector<float> left = a.values<float>(), right = b.values<float>();
      Array oneA = Array::of<float>({4, 5}, {left.begin() + i * 20, left.begin() + (i + 1) * 20});
      Array oneB = Array::of<float>({5, 6}, {right.begin() + j * 30, right.begin() + (j + 1) * 30});
      std::vector<double> part = naive<float>(oneA, oneB, {4, 6, 5}, false, false);
      expected.insert(expected.end(), part.begin(), part.end());
    }
  expectNear(y, expected, 1e-6);
}

TEST(KernelMatMul, VectorsAndMergedRows) {
  Array a = Array::random<float>({2, 3, 40}, 1), v = Array::random<float>({40}, 2);
  expectNear(runKernel1("onnx.MatMul", {}, {a, v}, {DType::F32, {2, 3}}),
             naive<float>(a, v, {6, 1, 40}, 0, 0), 1e-6);
  Array b = Array::random<float>({40, 7}, 3);
  expectNear(runKernel1("onnx.MatMul", {}, {a, b}, {DType::F32, {2, 3, 7}}),
             naive<float>(a, b, {6, 7, 40}, 0, 0), 1e-6);
  expectNear(runKernel1("onnx.MatMul", {}, {v, b}, {DType::F32, {7}}), naive<float>(v, b, {1, 7, 40}, 0, 0),
             1e-6);
}

TEST(KernelMatMul, PartsOfTheTermsHaveTheBitsOfProductsOfTheirOwn) {
  struct Case {
    int64_t m, n, part, parts;
    bool transA, transB;
  };
  for (const Case &c : std::vector<Case>{{5, 7, 3, 2, true, false},
                                         {70, 130, 64, 4, true, false},
                                         {33, 45, 512, 8, true, false},
                                         {40, 50, 100, 4, false, true},
                                         {300, 900, 37, 16, true, false}}) {
    const int64_t k = c.part * c.parts;
    const Array a = Array::random<float>(c.transA ? Shape{k, c.m} : Shape{c.m, k}, 1),
                b = Array::random<float>(c.transB ? Shape{c.n, k} : Shape{k, c.n}, 2);
    const auto run = [](const Array &matrix, bool isColumns, int64_t first, int64_t count) {
      const int64_t rows = matrix.desc.shape[0], columns = matrix.desc.shape[1];
      Array part({DType::F32, isColumns ? Shape{rows, count} : Shape{count, columns}});
      for (int64_t i = 0; i < part.desc.shape[0]; ++i)
        for (int64_t j = 0; j < part.desc.shape[1]; ++j)
          part.data<float>()[i * part.desc.shape[1] + j] =
              matrix.data<float>()[(isColumns ? i : i + first) * columns + (isColumns ? j + first : j)];
      return part;
    };
    json attrs = {{"transA", c.transA}, {"transB", c.transB}};
    std::vector<std::vector<float>> sums;
    for (int64_t p = 0; p < c.parts; ++p)
      sums.push_back(runKernel1("onnx.MatMul", attrs,
                                {run(a, !c.transA, p * c.part, c.part), run(b, c.transB, p * c.part, c.part)},
                                {DType::F32, {c.m, c.n}})
                         .values<float>());
    for (; sums.size() > 1; sums.resize(sums.size() / 2))
      for (size_t i = 0; 2 * i < sums.size(); ++i)
        for (size_t e = 0; e < sums[i].size(); ++e)
          sums[i][e] = sums[2 * i][e] + sums[2 * i + 1][e];
    attrs["parts"] = c.parts;
    EXPECT_EQ(runKernel1("train.sum_products", attrs, {a, b}, {DType::F32, {c.m, c.n}}).values<float>(),
              sums[0])
        << c.m << " x " << c.n << " x " << k;
  }
}

// As gradients of recurrent layers are: the bits of one product per part and of sums one after the other.
TEST(KernelMatMul, ChainsOfParts) {
  struct Case {
    int64_t m, n, part, parts;
  };
  for (const Case &c : std::vector<Case>{{5, 7, 3, 3},
                                         {70, 130, 16, 10},
                                         {128, 96, 64, 4},
                                         {50, 33, 1, 100},
                                         {70, 130, 16, 75},
                                         {37, 45, 48, 30},
                                         {33, 19, 7, 150}})
    for (const bool backwards : {false, true}) {
      const Array a = Array::random<float>({c.part * c.parts, c.m}, 1),
                  b = Array::random<float>({c.part * c.parts, c.n}, 2);
      const auto rows = [&](const Array &matrix, int64_t part) {
        Array own({DType::F32, {c.part, matrix.desc.shape[1]}});
        const int64_t size = own.desc.elements();
        std::copy_n(matrix.data<float>() + part * size, size, own.data<float>());
        return own;
      };
      std::vector<float> sum;
      for (int64_t p = 0; p < c.parts; ++p) {
        const int64_t part = backwards ? c.parts - 1 - p : p;
        const std::vector<float> own = runKernel1("onnx.MatMul", {{"transA", true}},
                                                  {rows(a, part), rows(b, part)}, {DType::F32, {c.m, c.n}})
                                           .values<float>();
        if (p == 0)
          sum = own;
        else
          std::transform(sum.begin(), sum.end(), own.begin(), sum.begin(), std::plus<>());
      }
      const json attrs = {{"transA", true}, {"parts", c.parts}, {"chain", true}, {"backwards", backwards}};
      EXPECT_EQ(runKernel1("train.sum_products", attrs, {a, b}, {DType::F32, {c.m, c.n}}).values<float>(),
                sum)
          << c.m << " x " << c.n << ", " << c.parts << " of " << c.part;
    }
}

/// A buffer of the arena: its places are multiples of 64.
struct Panels {
  explicit Panels(const TensorDesc &desc)
      : desc(desc), memory(std::aligned_alloc(64, desc.bytes() / 64 * 64 + 64), std::free) {}
  TensorDesc desc;
  std::unique_ptr<void, void (*)(void *)> memory;
};

Panels packColumns(const Array &matrix, int64_t k, int64_t n, const json &attrs) {
  Panels panels({DType::F32, {(n + 31) / 32, k, 32}});
  const auto kernel = makeKernel({"train.pack_columns", attrs, {matrix.desc}, {panels.desc}}, 2);
  const void *in[] = {matrix.bytes()};
  void *out[] = {panels.memory.get()};
  kernel->run(in, out, nullptr);
  return panels;
}

std::vector<float> multiplyPacked(const Array &a, const Panels &panels, const std::vector<Array> &addend,
                                  int64_t n, int threads) {
  Array result({DType::F32, {a.desc.shape[0], n}});
  LibraryCall call{"train.packed_product", json::object(), {a.desc, panels.desc}, {result.desc}};
  std::vector<const void *> in = {a.bytes(), panels.memory.get()};
  for (const Array &c : addend)
    call.inputs.push_back(c.desc), in.push_back(c.bytes());
  const auto kernel = makeKernel(call, threads);
  const Panels workspace({DType::F32, {static_cast<int64_t>(kernel->workspaceBytes())}});
  void *out[] = {result.bytes()};
  kernel->run(in.data(), out, workspace.memory.get());
  return result.values<float>();
}

// Panels that are packed once: the bits of a product that packs them itself.
TEST(KernelMatMul, PackedProducts) {
  struct Case {
    int64_t m, n, k;
    bool transB;
  };
  for (const Case &c : std::vector<Case>{{16, 200, 96, true},
                                         {16, 96, 1300, false},
                                         {1, 33, 70, true},
                                         {37, 31, 5, false},
                                         {7, 160, 513, false}}) {
    const Array a = Array::random<float>({c.m, c.k}, 1),
                b = Array::random<float>(c.transB ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
    const json turned = {{"transB", c.transB}};
    const Panels panels = packColumns(b, c.k, c.n, turned);
    for (const std::vector<Array> &addend :
         {std::vector<Array>(), {Array::random<float>({c.n}, 3)}, {Array::random<float>({c.m, c.n}, 4)}}) {
      std::vector<Array> plain = {a, b};
      plain.insert(plain.end(), addend.begin(), addend.end());
      const std::vector<float> expected =
          runKernel1("onnx.Gemm", turned, plain, {DType::F32, {c.m, c.n}}).values<float>();
      for (const int threads : {1, 3})
        EXPECT_EQ(multiplyPacked(a, panels, addend, c.n, threads), expected)
            << c.m << " x " << c.n << " x " << c.k;
    }
  }
}

TEST(KernelMatMul, WrongShapesAreNamed) {
  Array a = Array::random<float>({2, 3}, 1), b = Array::random<float>({4, 5}, 2);
  EXPECT_NE(errorOf("onnx.MatMul", {}, {a, b}, {{DType::F32, {2, 5}}}).find("inner sizes 3 and 4"),
            std::string::npos);
  EXPECT_NE(errorOf("onnx.NoSuchOp", {}, {a}, {{DType::F32, {2, 5}}}).find("onnx.NoSuchOp"),
            std::string::npos);
}

template <typename T> void checkGemm(const Shape &shapeC, double alpha, double beta, double tolerance) {
  Sizes s{37, 50, 260};
  Array a = Array::random<T>({s.m, s.k}, 1), b = Array::random<T>({s.n, s.k}, 2),
        c = Array::random<T>(shapeC, 3);
  std::vector<double> expected = naive<T>(a, b, s, false, true);
  int64_t rows = shapeC.size() == 2 ? shapeC[0] : 1, columns = shapeC.empty() ? 1 : shapeC.back();
  std::vector<double> addend = c.doubles();
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j)
      expected[i * s.n + j] = alpha * expected[i * s.n + j] +
                              beta * addend[(rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j)];
  json attrs = {{"transB", 1}, {"alpha", alpha}, {"beta", beta}};
  expectNear(runKernel1("onnx.Gemm", attrs, {a, b, c}, {dtypeOf<T>(), {s.m, s.n}}), expected, tolerance);
}

TEST(KernelGemm, AddendsAndFactors) {
  for (const Shape &shapeC : {Shape{}, Shape{50}, Shape{1}, Shape{1, 50}, Shape{37, 1}, Shape{37, 50}}) {
    checkGemm<float>(shapeC, 1, 1, 1e-5);
    checkGemm<float>(shapeC, 0.5, -2, 1e-5);
    checkGemm<double>(shapeC, 0.5, 1, 1e-13);
    checkGemm<BFloat16>(shapeC, 1, 1, 1e-5);
    checkGemm<Float16>(shapeC, 0.5, -2, 1e-5);
  }
}

/// Sums of 16-bit products in f32, in several blocks of the inner size; also where C is the result.
template <typename T> void checkWide() {
  Sizes s{37, 50, 2500};
  Array a = Array::random<T>({s.k, s.m}, 1), b = Array::random<T>({s.k, s.n}, 2),
        c = Array::random<float>({s.m, s.n}, 3);
  std::vector<double> expected = naive<T>(a, b, s, true, false), added = expected, addend = c.doubles();
  for (size_t i = 0; i < added.size(); ++i)
    added[i] += addend[i];
  const json attrs = {{"transA", true}, {"wide", true}};
  expectNear(runKernel1("onnx.Gemm", attrs, {a, b}, {DType::F32, {s.m, s.n}}), expected, 1e-5);
  Array sum = runKernel1("onnx.Gemm", attrs, {a, b, c}, {DType::F32, {s.m, s.n}});
  expectNear(sum, added, 1e-5);
  LibraryCall call{"onnx.Gemm", attrs, {a.desc, b.desc, c.desc}, {c.desc}};
  auto kernel = makeKernel(call, 2);
  std::unique_ptr<void, void (*)(void *)> workspace(
      std::aligned_alloc(64, (kernel->workspaceBytes() + 63) / 64 * 64), std::free);
  const void *inputs[] = {a.bytes(), b.bytes(), c.bytes()};
  void *outputs[] = {c.bytes()};
  kernel->run(inputs, outputs, workspace.get());
  EXPECT_EQ(std::memcmp(c.bytes(), sum.bytes(), c.desc.bytes()), 0);
}

TEST(KernelGemm, WideSums) {
  checkWide<BFloat16>();
  checkWide<Float16>();
}

TEST(KernelGemm, WideSumsOfOtherTypesAreNamed) {
  Array a = Array::random<float>({5, 3}, 1), b = Array::random<float>({5, 7}, 2);
  EXPECT_NE(errorOf("onnx.Gemm", {{"transA", true}, {"wide", true}}, {a, b}, {{DType::F32, {3, 7}}})
                .find("a wide sum of f32 has a result of f32: 16-bit factors"),
            std::string::npos);
  Array narrow = Array::random<BFloat16>({5, 3}, 1), right = Array::random<BFloat16>({5, 7}, 2),
        row = Array::random<float>({7}, 3);
  EXPECT_NE(
      errorOf("onnx.Gemm", {{"transA", true}, {"wide", true}}, {narrow, right, row}, {{DType::F32, {3, 7}}})
          .find("a wide sum adds a C as large as the result"),
      std::string::npos);
}

TEST(KernelGemm, LeadingRowsAndNoAddend) {
  Array a = Array::random<float>({2, 3, 40}, 1), b = Array::random<float>({40, 7}, 2);
  expectNear(runKernel1("onnx.Gemm", {}, {a, b}, {DType::F32, {2, 3, 7}}),
             naive<float>(a, b, {6, 7, 40}, 0, 0), 1e-6);
}

} // namespace
} // namespace kedge::rt::test
