#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

TEST(KernelQuantize, RoundsToEvenSaturatesAndReturns) {
  Array x = Array::of<float>({6}, {0, 2, 3, 1000, -254, -1000}), scale = Array::of<float>({}, {2});
  Array zero = Array::of<uint8_t>({}, {128});
  Array y = runKernel1("onnx.QuantizeLinear", {}, {x, scale, zero}, {DType::U8, {6}});
  expectNear(y, {128, 129, 130, 255, 1, 0}, 0);
  expectNear(runKernel1("onnx.DequantizeLinear", {}, {y, scale, zero}, x.desc), {0, 2, 4, 254, -254, -256},
             0);
}

TEST(KernelQuantize, AxisAndBlocks) {
  Array x = Array::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  Array rows = Array::of<float>({2}, {1, 2}), blocks = Array::of<float>({2, 2}, {1, 2, 4, 8});
  expectNear(runKernel1("onnx.QuantizeLinear", {{"axis", 0}}, {x, rows}, {DType::U8, {2, 4}}),
             {1, 2, 3, 4, 2, 3, 4, 4}, 0);
  Array q = Array::of<int8_t>({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  expectNear(runKernel1("onnx.DequantizeLinear", {{"axis", 1}, {"block_size", 2}}, {q, blocks}, x.desc),
             {1, 1, 2, 2, 4, 4, 8, 8}, 0);
}

TEST(KernelQuantize, DynamicScale) {
  Array x = Array::of<float>({3}, {-1, 0, 254});
  auto out =
      runKernel("onnx.DynamicQuantizeLinear", {}, {x}, {{DType::U8, {3}}, {DType::F32, {}}, {DType::U8, {}}});
  expectNear(out[0], {0, 1, 255}, 0);
  expectNear(out[1], {1}, 1e-7);
  expectNear(out[2], {1}, 0);
}

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
  Array one = Array::of<float>({}, {1}), half = Array::of<float>({1}, {0.5}),
        four = Array::of<float>({}, {4});
  Array none = Array::of<uint8_t>({}, {0}), bias = Array::of<int32_t>({1}, {4});
  expectNear(runKernel1("onnx.QLinearConv", {}, {x, one, zero, w, half, none, four, none, bias},
                        {DType::U8, {1, 1, 2, 2}}),
             {2, 2, 4, 4}, 0); // 2, 2.5, 3.5, 4
}

} // namespace
} // namespace kedge::rt::test
