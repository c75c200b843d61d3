// Kernels along an axis and kernels that fill by position.
#include "test/unit/kernels/KernelTest.h"
#include <cmath>

namespace kedge::rt::test {
namespace {

TEST(KernelCumSum, DirectionsAndAxes) {
  Array x = Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto run = [&](json attrs) { return runKernel1("onnx.CumSum", attrs, {x}, x.desc); };
  expectNear(run({{"axis", 1}}), {1, 3, 6, 4, 9, 15}, 0);
  expectNear(run({{"axis", 0}}), {1, 2, 3, 5, 7, 9}, 0);
  expectNear(run({{"axis", -1}, {"exclusive", 1}}), {0, 1, 3, 0, 4, 9}, 0);
  expectNear(run({{"axis", 1}, {"reverse", 1}, {"exclusive", 1}}), {5, 3, 0, 11, 6, 0}, 0);
  Array whole = Array::of<int32_t>({3}, {1, 2, 3});
  expectNear(runKernel1("onnx.CumSum", {{"axis", 0}}, {whole}, whole.desc), {1, 3, 6}, 0);
}

TEST(KernelArg, TiesAndNaN) {
  Array x = Array::of<float>({2, 4}, {1, 3, 3, 0, 5, NAN, 7, -1});
  TensorDesc y{DType::I64, {2, 1}}, flat{DType::I64, {2}};
  expectNear(runKernel1("onnx.ArgMax", {{"axis", 1}}, {x}, y), {1, 1}, 0);
  expectNear(runKernel1("onnx.ArgMax", {{"axis", 1}, {"keepdims", 0}, {"select_last_index", 1}}, {x}, flat),
             {2, 1}, 0);
  Array z = Array::of<int32_t>({2, 2}, {4, 2, 1, 2});
  expectNear(runKernel1("onnx.ArgMin", {{"axis", 0}}, {z}, {DType::I64, {1, 2}}), {1, 0}, 0);
  expectNear(runKernel1("onnx.Hardmax", {{"axis", 1}}, {x}, x.desc), {0, 1, 0, 0, 0, 1, 0, 0}, 0);
}

TEST(KernelTopK, OrderTiesAndAxis) {
  Array x = Array::of<float>({2, 4}, {1, 3, 3, 0, 5, 9, 7, -1});
  auto top = runKernel("onnx.TopK", {{"axis", 1}}, {x}, {{DType::F32, {2, 3}}, {DType::I64, {2, 3}}});
  expectNear(top[0], {3, 3, 1, 9, 7, 5}, 0);
  expectNear(top[1], {1, 2, 0, 1, 2, 0}, 0);
  auto low = runKernel("onnx.TopK", {{"axis", 0}, {"largest", 0}}, {x},
                       {{DType::F32, {1, 4}}, {DType::I64, {1, 4}}});
  expectNear(low[0], {1, 3, 3, -1}, 0);
  expectNear(low[1], {0, 0, 0, 1}, 0);
}

TEST(KernelOneHot, AxesAndNegativeIndices) {
  Array indices = Array::of<int64_t>({2}, {1, -1}), values = Array::of<float>({2}, {-1, 5});
  expectNear(runKernel1("onnx.OneHot", {{"depth", 3}}, {indices, values}, {DType::F32, {2, 3}}),
             {-1, 5, -1, -1, -1, 5}, 0);
  expectNear(runKernel1("onnx.OneHot", {{"axis", 0}}, {indices, values}, {DType::F32, {3, 2}}),
             {-1, -1, 5, -1, -1, 5}, 0);
}

TEST(KernelFill, TriangleEyeRange) {
  Array x = Array::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expectNear(runKernel1("onnx.Trilu", {}, {x}, x.desc), {1, 2, 3, 0, 5, 6, 0, 0, 9}, 0);
  expectNear(runKernel1("onnx.Trilu", {{"upper", 0}, {"k", 1}}, {x}, x.desc), {1, 2, 0, 4, 5, 6, 7, 8, 9}, 0);
  expectNear(runKernel1("onnx.Trilu", {{"k", 9}}, {x}, x.desc), std::vector<double>(9), 0);
  expectNear(runKernel1("onnx.EyeLike", {{"k", -1}}, {}, {DType::F32, {2, 3}}), {0, 0, 0, 1, 0, 0}, 0);
  Array start = Array::of<int64_t>({}, {5}), delta = Array::of<int64_t>({}, {-2});
  expectNear(runKernel1("onnx.Range", {}, {start, delta}, {DType::I64, {3}}), {5, 3, 1}, 0);
}

TEST(KernelFill, ReverseSequenceAndCompress) {
  Array x = Array::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), lengths = Array::of<int64_t>({2}, {2, 3});
  expectNear(runKernel1("onnx.ReverseSequence", {}, {x, lengths}, x.desc), {3, 6, 1, 4, 5, 2}, 0);
  Array condition({DType::Bool, {3}});
  condition.data<uint8_t>()[0] = 0, condition.data<uint8_t>()[1] = condition.data<uint8_t>()[2] = 1;
  expectNear(runKernel1("onnx.Compress", {{"axis", 0}}, {x, condition}, {DType::F32, {2, 2}}), {3, 4, 5, 6},
             0);
  expectNear(runKernel1("onnx.Compress", {}, {x, condition}, {DType::F32, {2}}), {2, 3}, 0);
  EXPECT_NE(errorOf("onnx.Compress", {}, {x, condition}, {{DType::F32, {3}}}).find("selects 2"),
            std::string::npos);
}

} // namespace
} // namespace kedge::rt::test
