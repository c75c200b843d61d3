// What calls compute and move is known from the call: for CUDA's own calls too, which no kernel here takes.
#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

using rt::calls::CallWork;
using rt::calls::workOf;

LibraryCall callOf(const std::string &name, json attrs, const std::vector<Shape> &inputs, const Shape &output,
                   DType type = DType::F32) {
  LibraryCall call{name, std::move(attrs), {}, {{type, output}}};
  for (const Shape &shape : inputs)
    call.inputs.push_back({type, shape});
  return call;
}

TEST(CallWork, ProductsCountTheirMultiplyAdds) {
  const CallWork work = workOf(callOf("onnx.Gemm", {{"transB", 1}}, {{3, 5}, {7, 5}, {7}}, {3, 7}));
  EXPECT_EQ(work.kind, CallWork::Kind::Matmul);
  EXPECT_EQ(work.flops, 2.0 * 3 * 5 * 7);
}

TEST(CallWork, PaddedRowsCountAsDenseOnes) {
  const LibraryCall padded = callOf("onnx.MatMul", {{"widths", {5, 7, 7}}}, {{3, 5}, {5, 7}}, {3, 16});
  EXPECT_ANY_THROW(makeKernel(padded, 1)) << "the CPU takes dense rows alone";
  EXPECT_EQ(workOf(padded).flops, 2.0 * 3 * 5 * 7);
}

TEST(CallWork, EpiloguesAddTheirSpecialFunctions) {
  const LibraryCall fused =
      callOf("train.fused_product", {{"epilogue", "gelu"}}, {{3, 5}, {5, 7}}, {3, 7}, DType::BF16);
  EXPECT_ANY_THROW(makeKernel(fused, 1)) << "CUDA alone has it";
  EXPECT_EQ(workOf(fused).flops, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(workOf(fused).specialFunctions, 3 * 7);
}

TEST(CallWork, TransformsOfConvolutionsSaveMultiplications) {
  const auto convolution = [](DType type) {
    return callOf("onnx.Conv", {{"pads", {1, 1, 1, 1}}}, {{4, 64, 32, 32}, {64, 64, 3, 3}}, {4, 64, 32, 32},
                  type);
  };
  EXPECT_GT(workOf(convolution(DType::F32)).shortcut, 1.5);
  EXPECT_EQ(workOf(convolution(DType::BF16)).shortcut, 1);
  EXPECT_EQ(workOf(convolution(DType::F32)).flops, 2.0 * 4 * 64 * 32 * 32 * 64 * 9);
  const CallWork stencil =
      workOf(callOf("onnx.Conv", {{"group", 8}}, {{1, 8, 9, 9}, {8, 1, 3, 3}}, {1, 8, 7, 7}));
  EXPECT_EQ(stencil.kind, CallWork::Kind::Vector) << "a filter of one channel is a stencil";
}

TEST(CallWork, GathersReadWhatTheyTake) {
  LibraryCall gather = callOf("onnx.Gather", {{"axis", 0}}, {{1000, 8}, {3}}, {3, 8});
  gather.inputs[1].type = DType::I64;
  EXPECT_EQ(workOf(gather).bytesRead, 3 * 8 * 4 + 3 * 8);
  EXPECT_EQ(workOf(callOf("onnx.Transpose", {}, {{2, 3}}, {3, 2})).flops, 0) << "only moves";
}

TEST(CallWork, OperandsThatDoNotFitAreErrors) {
  EXPECT_ANY_THROW(workOf(callOf("onnx.MatMul", {}, {{3, 5}, {4, 7}}, {3, 7})));
}

} // namespace
} // namespace kedge::rt::test
