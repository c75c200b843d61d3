// Products of 8-bit floats beside those of the same numbers in bf16, on every set of instructions that this
// machine has.
#include "runtime/format/Float8.h"
#include "test/unit/kernels/KernelTest.h"
#include <cmath>

namespace kedge::rt::test {
namespace {

/// Any code, NaN and infinities aside.
Array codes(DType type, const Shape &shape, unsigned seed) {
  Array array({type, shape});
  std::mt19937 generator(seed);
  for (int64_t i = 0; i < array.size(); ++i)
    array.data<uint8_t>()[i] = static_cast<uint8_t>(generator()) & (type == DType::F8E5M2 ? 0xbb : 0xfe);
  return array;
}

Array inBFloat(const Array &codes) {
  Array wide({DType::BF16, codes.desc.shape});
  for (int64_t i = 0; i < wide.size(); ++i) {
    const uint8_t code = codes.data<uint8_t>()[i];
    const bool isBroad = codes.desc.type == DType::F8E5M2;
    wide.data<BFloat16>()[i] =
        isBroad ? static_cast<float>(Float8E5M2{code}) : static_cast<float>(Float8E4M3{code});
  }
  return wide;
}

TEST(KernelScaledProduct, CodesHaveTheFormatsValues) {
  EXPECT_EQ(static_cast<float>(Float8E4M3{0x7e}), 448);
  EXPECT_EQ(static_cast<float>(Float8E4M3{0x81}), -0x1p-9f);
  EXPECT_EQ(static_cast<float>(Float8E4M3{0x08}), 0x1p-6f);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E4M3{0xff})));
  EXPECT_EQ(static_cast<float>(Float8E5M2{0x7b}), 57344);
  EXPECT_EQ(static_cast<float>(Float8E5M2{0x01}), 0x1p-16f);
  EXPECT_EQ(static_cast<float>(Float8E5M2{0xfc}), -INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E5M2{0x7d})));
}

// Scales that are powers of two commute with rounding, so the result has the very bits of the product in
// bf16.
TEST(KernelScaledProduct, IsTheProductInBFloatTimesItsScales) {
  const Array quarter = Array::of<float>({}, {0.25f}), eight = Array::of<float>({}, {8.0f});
  const Array bias = Array::random<BFloat16>({48}, 3);
  for (cpu::Isa isa : isasOfThisMachine()) {
    ForcedIsa forced(isa);
    for (int mode = 0; mode < 4; ++mode) {
      const bool transA = mode & 1, transB = mode & 2;
      const Array a = codes(DType::F8E4M3, transA ? Shape{80, 32} : Shape{32, 80}, 1);
      const Array b = codes(DType::F8E5M2, transB ? Shape{48, 80} : Shape{80, 48}, 2);
      json attrs{{"transA", transA}, {"transB", transB}};
      const TensorDesc y{DType::BF16, {32, 48}};
      const Array plain = runKernel1("onnx.MatMul", attrs, {inBFloat(a), inBFloat(b)}, y);
      const Array scaled = runKernel1("train.scaled_product", attrs, {a, b, quarter, eight}, y);
      const Array sums =
          runKernel1("train.scaled_product", attrs, {a, b, quarter, eight}, {DType::F32, {32, 48}});
      for (int64_t i = 0; i < plain.size(); ++i) // the part of a sum over ranks is not rounded
        ASSERT_EQ(static_cast<float>(BFloat16(sums.data<float>()[i])),
                  static_cast<float>(scaled.data<BFloat16>()[i]))
            << i;
      attrs["alpha"] = 0.5;
      const Array biased = runKernel1("train.scaled_product", attrs, {a, b, quarter, eight, bias}, y);
      for (int64_t i = 0; i < plain.size(); ++i) {
        const float product = static_cast<float>(plain.data<BFloat16>()[i]),
                    c = static_cast<float>(bias.data<BFloat16>()[i % 48]);
        ASSERT_EQ(static_cast<float>(scaled.data<BFloat16>()[i]), 2 * product) << i;
        ASSERT_NEAR(static_cast<float>(biased.data<BFloat16>()[i]), product + c,
                    0x1p-6 * (std::abs(product) + std::abs(c)))
            << i;
      }
    }
  }
}

TEST(KernelScaledProduct, RefusesOtherOperands) {
  const Array one = Array::of<float>({}, {1.0f}), a = codes(DType::F8E4M3, {16, 16}, 1), wide = inBFloat(a);
  const TensorDesc y{DType::BF16, {16, 16}};
  for (const std::vector<Array> &inputs :
       {std::vector<Array>{a, wide, one, one}, {a, a, wide, one}, {a, a, one, one, one}})
    EXPECT_NE(errorOf("train.scaled_product", {}, inputs, {y})
                  .find("two operands of 8-bit floats, two numbers of f32 and a C of bf16"),
              std::string::npos);
  EXPECT_NE(errorOf("train.scaled_product", {}, {a, a, one, one}, {{DType::F16, {16, 16}}})
                .find("a result of bf16 is expected, or without C one of f32; found f16"),
            std::string::npos);
}

} // namespace
} // namespace kedge::rt::test
