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

} // namespace
} // namespace kedge::rt::test
