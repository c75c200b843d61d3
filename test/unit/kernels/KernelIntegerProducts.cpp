#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

TEST(KernelIntegerProducts, ZeroPointsAndScales) {
  Array a = Array::of<uint8_t>({2, 2}, {11, 7, 3, 10}), b = Array::of<uint8_t>({2, 1}, {1, 4});
  Array zeroA = Array::of<uint8_t>({}, {12}), zeroB = Array::of<uint8_t>({1}, {0});
  expectNear(runKernel1("onnx.MatMulInteger", {}, {a, b, zeroA, zeroB}, {DType::I32, {2, 1}}), {-21, -17}, 0);
  Array one = Array::of<float>({}, {1}), two = Array::of<float>({}, {2}),
        hundred = Array::of<uint8_t>({}, {100});
  expectNear(
      runKernel1("onnx.QLinearMatMul", {}, {a, one, zeroA, b, one, zeroB, two, hundred}, {DType::U8, {2, 1}}),
      {90, 92}, 0); // -10.5 and -8.5 round to even
}

TEST(KernelIntegerProducts, AnySizesAndSignsOnEveryInstructionSet) {
  for (const cpu::Isa isa : isasOfThisMachine()) {
    cpu::forceIsa(isa);
    for (const auto [m, k, n] : {std::array<int64_t, 3>{1, 1, 1}, {35, 70, 18}, {5, 513, 33}, {64, 3, 16}})
      for (const DType typeA : {DType::U8, DType::I8})
        for (const DType typeB : {DType::U8, DType::I8}) {
          // Every byte occurs; the zero points are at the ends of the types.
          const auto stored = [](int64_t i) { return static_cast<uint8_t>(i * 37 + i / 256); };
          const auto number = [](DType type, uint8_t byte) {
            return type == DType::U8 ? int64_t(byte) : int64_t(static_cast<int8_t>(byte));
          };
          const auto array = [&](DType type, std::vector<int64_t> shape, int64_t count, auto byteAt) {
            Array made = type == DType::U8 ? Array::of<uint8_t>(shape, std::vector<uint8_t>(count))
                                           : Array::of<int8_t>(shape, std::vector<int8_t>(count));
            for (int64_t i = 0; i < count; ++i)
              made.data<uint8_t>()[i] = byteAt(i);
            return made;
          };
          const auto zeroOf = [](int64_t line) { return static_cast<uint8_t>(line % 2 ? 255 : 128); };
          const Array a = array(typeA, {m, k}, m * k, stored), b = array(typeB, {k, n}, k * n, stored),
                      zeroA = array(typeA, {m}, m, zeroOf), zeroB = array(typeB, {n}, n, zeroOf);
          std::vector<double> expected;
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              int64_t sum = 0;
              for (int64_t q = 0; q < k; ++q)
                sum += (number(typeA, stored(i * k + q)) - number(typeA, zeroOf(i))) *
                       (number(typeB, stored(q * n + j)) - number(typeB, zeroOf(j)));
              expected.push_back(static_cast<double>(sum));
            }
          expectNear(runKernel1("onnx.MatMulInteger", {}, {a, b, zeroA, zeroB}, {DType::I32, {m, n}}),
                     expected, 0);
        }
  }
  cpu::forceIsa({});
}

TEST(KernelIntegerProducts, Convolutions) {
  Array x = Array::of<uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
        w = Array::of<uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1});
  Array zero = Array::of<uint8_t>({}, {1});
  expectNear(runKernel1("onnx.ConvInteger", {}, {x, w, zero}, {DType::I32, {1, 1, 2, 2}}), {12, 16, 24, 28},
             0);
  expectNear(
      runKernel1("onnx.ConvInteger", {{"pads", {1, 1, 1, 1}}}, {x, w, zero}, {DType::I32, {1, 1, 4, 4}}),
      {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}, 0);
}

TEST(KernelIntegerProducts, ConvolutionsOfAnyWindowOnEveryInstructionSet) {
  // Two groups of 33 filters, more than a block of rows; 35 positions, in 3 panels; 36 products each.
  constexpr int64_t kBatch = 2, kGroups = 2, kChannels = 3, kFilters = 33, kIn[2] = {9, 13}, kOut[2] = {5, 7},
                    kTaps[2] = {3, 4}, kStride[2] = {2, 2}, kDilation[2] = {2, 1}, kPad[2] = {2, 2};
  const auto byte = [](int64_t i) { return static_cast<uint8_t>(i * 37 + i / 256); };
  std::vector<uint8_t> x(kBatch * kGroups * kChannels * kIn[0] * kIn[1]);
  std::vector<int8_t> w(kGroups * kFilters * kChannels * kTaps[0] * kTaps[1]), zeroW(kGroups * kFilters);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = byte(i);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<int8_t>(byte(i + 5));
  for (size_t i = 0; i < zeroW.size(); ++i)
    zeroW[i] = i % 2 ? 127 : -128;
  constexpr uint8_t kZeroX = 200;
  std::vector<double> expected;
  for (int64_t image = 0; image < kBatch; ++image)
    for (int64_t filter = 0; filter < kGroups * kFilters; ++filter)
      for (int64_t o = 0; o < kOut[0] * kOut[1]; ++o) {
        int64_t sum = 0;
        for (int64_t q = 0; q < kChannels * kTaps[0] * kTaps[1]; ++q) {
          const int64_t channel = filter / kFilters * kChannels + q / (kTaps[0] * kTaps[1]),
                        row = o / kOut[1] * kStride[0] - kPad[0] + q / kTaps[1] % kTaps[0] * kDilation[0],
                        column = o % kOut[1] * kStride[1] - kPad[1] + q % kTaps[1] * kDilation[1];
          if (row >= 0 && row < kIn[0] && column >= 0 && column < kIn[1])
            sum += (x[((image * kGroups * kChannels + channel) * kIn[0] + row) * kIn[1] + column] - kZeroX) *
                   (w[filter * kChannels * kTaps[0] * kTaps[1] + q] - zeroW[filter]);
        }
        expected.push_back(static_cast<double>(sum));
      }
  const json window = {{"pads", {2, 2, 2, 2}}, {"strides", {2, 2}}, {"dilations", {2, 1}}, {"group", 2}};
  for (const cpu::Isa isa : isasOfThisMachine()) {
    cpu::forceIsa(isa);
    expectNear(runKernel1("onnx.ConvInteger", window,
                          {Array::of<uint8_t>({kBatch, kGroups * kChannels, kIn[0], kIn[1]}, x),
                           Array::of<int8_t>({kGroups * kFilters, kChannels, kTaps[0], kTaps[1]}, w),
                           Array::of<uint8_t>({}, {kZeroX}), Array::of<int8_t>({kGroups * kFilters}, zeroW)},
                          {DType::I32, {kBatch, kGroups * kFilters, kOut[0], kOut[1]}}),
               expected, 0);
  }
  cpu::forceIsa({});
}

} // namespace
} // namespace kedge::rt::test
