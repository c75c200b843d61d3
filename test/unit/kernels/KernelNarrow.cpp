// Products of 16-bit operands on every set of instructions that this machine has: bounds that follow from the
// format and the length of sums, places that do not matter, and what leaves the format's range.
#include "runtime/cpu/isa/HalfRows.h"
#include "test/unit/kernels/KernelTest.h"
#include <cmath>
#include <limits>

namespace kedge::rt::test {
namespace {

using cpu::Isa;

template <typename F> void onEveryIsa(F &&f) {
  for (Isa isa : isasOfThisMachine()) {
    SCOPED_TRACE(::testing::Message() << "isa " << static_cast<int>(isa));
    ForcedIsa forced(isa);
    f(isa);
  }
}

Array matMul(const Array &a, const Array &b, bool transA, bool transB, const TensorDesc &y) {
  return runKernel1("onnx.MatMul", {{"transA", transA}, {"transB", transB}}, {a, b}, y);
}

struct NarrowSizes {
  int64_t m, n, k;
};

/// Products of two 16-bit numbers are exact in fp32. The longest chain of additions in a sum of k: one within
/// a tile of 64 steps (AVX-512, AVX2), or of 64 sums of 16 pairs (AMX); one of the chains' sums; one of the
/// blocks of k.
double longestChain(int64_t k) {
  return std::min<double>(static_cast<double>(k), 64 + 16 + 2 + static_cast<double>(k) / 64);
}

template <typename T> void expectWithinFormat(const NarrowSizes &s, bool transA, bool transB, DType result) {
  Array a = Array::random<T>(transA ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1);
  Array b = Array::random<T>(transB ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2);
  std::vector<double> left = a.doubles(), right = b.doubles();
  std::vector<double> y = matMul(a, b, transA, transB, {result, {s.m, s.n}}).doubles();
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      double exact = 0, size = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        double term = left[transA ? p * s.m + i : i * s.k + p] * right[transB ? j * s.k + p : p * s.n + j];
        exact += term, size += std::abs(term);
      }
      const double sums = longestChain(s.k) * 0x1p-24 * size;
      ASSERT_LE(std::abs(y[i * s.n + j] - exact), sums + rounding(result) * (std::abs(exact) + sums))
          << i << ", " << j << " of " << s.m << " x " << s.n << " x " << s.k << " trans " << transA << transB;
    }
}

// k on both sides of a step, of a chain, and of a block of k (768 pairs' tile, 2048 AMX).
TEST(KernelNarrow, ProductsAreWithinOneRoundingOfTheFormat) {
  onEveryIsa([](Isa) {
    for (NarrowSizes s : {NarrowSizes{1, 1, 1},
                          {16, 16, 32},
                          {17, 33, 31},
                          {45, 39, 65},
                          {33, 31, 801},
                          {34, 36, 2083},
                          {139, 301, 70}, // several panels at once, rows of several tiles
                          {35, 290, 417}})
      for (int mode = 0; mode < 4; ++mode) {
        expectWithinFormat<BFloat16>(s, mode & 1, mode & 2, DType::BF16);
        expectWithinFormat<BFloat16>(s, mode & 1, mode & 2, DType::F32);
        expectWithinFormat<Float16>(s, mode & 1, mode & 2, DType::F16);
      }
  });
}

// Rows of several tiles, k of one and of two blocks; a bias alone may be subnormal.
TEST(KernelNarrow, BiasesAreAddedBeforeTheOneRounding) {
  onEveryIsa([](Isa) {
    for (NarrowSizes s : {NarrowSizes{35, 290, 70}, {35, 290, 2083}}) {
      Array a = Array::random<BFloat16>({s.m, s.k}, 1), b = Array::random<BFloat16>({s.k, s.n}, 2),
            bias = Array::random<BFloat16>({s.n}, 3);
      std::vector<double> sums = matMul(a, b, false, false, {DType::F32, {s.m, s.n}}).doubles();
      const std::vector<double> added = bias.doubles();
      for (int64_t i = 0; i < s.m * s.n; ++i)
        sums[i] += added[i % s.n];
      expectNear(runKernel1("onnx.Gemm", {}, {a, b, bias}, {DType::BF16, {s.m, s.n}}), sums, 1e-5);
    }
    Array a = Array::of<BFloat16>({3, 32}, std::vector<BFloat16>(96, 0.0f)),
          b = Array::of<BFloat16>({32, 40}, std::vector<BFloat16>(1280, 0.0f)),
          bias = Array::of<BFloat16>({40}, std::vector<BFloat16>(40, 0x3p-131f));
    for (double value : runKernel1("onnx.Gemm", {}, {a, b, bias}, {DType::BF16, {3, 40}}).doubles())
      ASSERT_EQ(value, 0x3p-131);
  });
}

// A chain that ran over all of k would be several times as far away.
TEST(KernelNarrow, LongSumsStayAccurate) {
  onEveryIsa([](Isa) {
    NarrowSizes s{24, 40, 4096};
    Array a = Array::random<BFloat16>({s.m, s.k}, 1), b = Array::random<BFloat16>({s.k, s.n}, 2);
    std::vector<double> left = a.doubles(), right = b.doubles();
    std::vector<double> y = matMul(a, b, false, false, {DType::F32, {s.m, s.n}}).doubles();
    double error = 0, size = 0;
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        double exact = 0;
        for (int64_t p = 0; p < s.k; ++p)
          exact += left[i * s.k + p] * right[p * s.n + j];
        error += std::pow(y[i * s.n + j] - exact, 2), size += exact * exact;
      }
    EXPECT_LT(std::sqrt(error / size), 2.6e-7);
  });
}

// All rows of A are one row and all columns of B one column: every element has the same bits, at borders too.
TEST(KernelNarrow, AnElementsBitsDoNotDependOnItsPlace) {
  onEveryIsa([](Isa) {
    const NarrowSizes s{77, 91, 833};
    Array row = Array::random<BFloat16>({s.k}, 1), column = Array::random<BFloat16>({s.k}, 2);
    for (int mode = 0; mode < 4; ++mode) {
      bool transA = mode & 1, transB = mode & 2;
      Array a({DType::BF16, transA ? Shape{s.k, s.m} : Shape{s.m, s.k}});
      Array b({DType::BF16, transB ? Shape{s.n, s.k} : Shape{s.k, s.n}});
      for (int64_t p = 0; p < s.k; ++p) {
        for (int64_t i = 0; i < s.m; ++i)
          a.data<BFloat16>()[transA ? p * s.m + i : i * s.k + p] = row.data<BFloat16>()[p];
        for (int64_t j = 0; j < s.n; ++j)
          b.data<BFloat16>()[transB ? j * s.k + p : p * s.n + j] = column.data<BFloat16>()[p];
      }
      std::vector<float> y = matMul(a, b, transA, transB, {DType::F32, {s.m, s.n}}).values<float>();
      for (float value : y)
        ASSERT_EQ(value, y[0]) << "mode " << mode;
    }
  });
}

template <typename T> float dot(std::vector<float> a, std::vector<float> b) {
  const auto k = static_cast<int64_t>(a.size());
  Array left = Array::of<T>({1, k}, {a.begin(), a.end()}), right = Array::of<T>({k, 1}, {b.begin(), b.end()});
  return static_cast<float>(matMul(left, right, false, false, {dtypeOf<T>(), {1, 1}}).template data<T>()[0]);
}

TEST(KernelNarrow, SumsAreRoundedOnceToNearestEven) {
  onEveryIsa([](Isa) {
    EXPECT_EQ(dot<BFloat16>({256, 1}, {1, 1}), 256); // steps of 2: a tie goes to the even one
    EXPECT_EQ(dot<BFloat16>({258, 1}, {1, 1}), 260);
    EXPECT_EQ(dot<BFloat16>({256, 1, 0.0625f}, {1, 1, 1}),
              258); // rounding 257 first would lose the last term
    EXPECT_EQ(dot<Float16>({2048, 1}, {1, 1}), 2048);
    EXPECT_EQ(dot<Float16>({2050, 1}, {1, 1}), 2052);
    EXPECT_EQ(dot<BFloat16>({256, 1, 1, 1, 1}, {1, 1, 1, 1, 1}), 260); // small terms are not lost one by one
  });
}

TEST(KernelNarrow, RangeOfTheFormats) {
  const float inf = std::numeric_limits<float>::infinity();
  onEveryIsa([&](Isa isa) {
    EXPECT_EQ(dot<Float16>({65504, 15}, {1, 1}), 65504);
    EXPECT_EQ(dot<Float16>({65504, 16}, {1, 1}), inf);
    EXPECT_EQ(dot<Float16>({60000, -60000}, {60000, 60000}), 0); // sums have fp32's range
    EXPECT_EQ(dot<Float16>({-300, 1}, {300, 1}), -inf);
    EXPECT_EQ(dot<BFloat16>({0x1p+127f}, {2}), inf);
    EXPECT_EQ(dot<Float16>({0x1p-24f, 0x1p-24f}, {1, 2}), 0x3p-24f); // subnormal
    // AVX512_BF16, AMX and bfdot take subnormal operands as 0 and flush subnormal sums.
    const bool flushes =
        isa == Isa::Avx512Bf16 || isa == Isa::Amx || isa == Isa::NeonBf16 || isa == Isa::Sve256;
    EXPECT_EQ(dot<BFloat16>({0x1p-130f}, {0x1p+10f}), flushes ? 0 : 0x1p-120f);
    EXPECT_EQ(dot<BFloat16>({0x1p-66f}, {0x1p-66f}), flushes ? 0 : 0x1p-132f);
    EXPECT_EQ(dot<BFloat16>({0x1p-63f}, {0x1p-63f}), 0x1p-126f);
  });
}

TEST(KernelNarrow, NanAndInfinityStayInTheirRow) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const int64_t m = 40, n = 35, k = 70;
  onEveryIsa([&](Isa) {
    Array a = Array::of<BFloat16>({m, k}, std::vector<BFloat16>(m * k, 1.0f));
    Array b = Array::of<BFloat16>({k, n}, std::vector<BFloat16>(k * n, 0.5f));
    a.data<BFloat16>()[3 * k + 69] = nan, a.data<BFloat16>()[38 * k] = inf;
    b.data<BFloat16>()[0 * n + 34] = 0.0f; // inf * 0
    std::vector<double> y = matMul(a, b, false, false, {DType::BF16, {m, n}}).doubles();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double expected = i == 3 || (i == 38 && j == 34) ? nan : i == 38 ? inf : j == 34 ? 34.5 : 35;
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(y[i * n + j])) << i << ", " << j;
        } else {
          EXPECT_EQ(y[i * n + j], expected) << i << ", " << j;
        }
      }
  });
}

/// All 65536 values, and floats around every one of them.
template <typename S> void checkConversions() {
  const cpu::HalfRows &rows = cpu::halfRows<S>();
  constexpr int64_t kCount = 1 << 16;
  std::vector<uint16_t> bits(kCount), back(kCount);
  std::vector<float> wide(kCount), near(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    bits[i] = static_cast<uint16_t>(i);
  auto valueOf = [](uint16_t word) {
    S value;
    value.bits = word;
    return static_cast<float>(value);
  };
  rows.widen(4, kCount / 4 - 3, bits.data(), kCount / 4, wide.data(), kCount / 4);
  for (int64_t i = 0; i < kCount; ++i)
    if (i % (kCount / 4) < kCount / 4 - 3 && !std::isnan(valueOf(bits[i]))) {
      ASSERT_EQ(wide[i], valueOf(bits[i])) << i;
    }
  for (uint32_t offset : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
    for (int64_t i = 0; i < kCount; ++i)
      near[i] = std::bit_cast<float>((static_cast<uint32_t>(i) << 16) + offset);
    rows.round(1, kCount, near.data(), kCount, back.data(), kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      if (std::isnan(near[i])) {
        ASSERT_TRUE(std::isnan(valueOf(back[i]))) << near[i];
      } else {
        ASSERT_EQ(back[i], S(near[i]).bits) << near[i];
      }
    }
  }
}

TEST(KernelNarrow, RowsAreConvertedAsElementsAre) {
  onEveryIsa([](Isa) {
    checkConversions<BFloat16>();
    checkConversions<Float16>();
  });
}

} // namespace
} // namespace kedge::rt::test
