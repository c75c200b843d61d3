// Products and convolutions of the GPU device against the CPU's kernels: the stand-ins compute from
// cuBLASLt's and cuDNN's descriptors, so that what the runtime tells the libraries is what is tested.
#include "runtime/calls/LibraryKernel.h"
#include "test/support/ScopedVariable.h"
#include "test/unit/cuda/CudaProgram.h"

namespace kedge::test {
namespace {

using nlohmann::json;

struct ProductCase {
  std::string name;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<int64_t> output;
  json attrs = json::object();
};

class CudaProducts : public ::testing::TestWithParam<ProductCase> {};

TEST_P(CudaProducts, EqualTheHostsResults) {
  const ProductCase &c = GetParam();
  for (const char *type : {"f32", "f64", "bf16", "f16"})
    expectSameOnBoth(callProgram(c.name, type, c.inputs, c.output, c.attrs));
}

INSTANTIATE_TEST_SUITE_P(
    MatMul, CudaProducts,
    ::testing::Values(ProductCase{"onnx.MatMul", {{3, 5}, {5, 7}}, {3, 7}},
                      ProductCase{"onnx.MatMul", {{5}, {5, 7}}, {7}},
                      ProductCase{"onnx.MatMul", {{3, 5}, {5}}, {3}},
                      ProductCase{"onnx.MatMul", {{2, 4, 3, 5}, {5, 7}}, {2, 4, 3, 7}},
                      ProductCase{"onnx.MatMul", {{2, 4, 3, 5}, {2, 4, 5, 7}}, {2, 4, 3, 7}},
                      ProductCase{"onnx.MatMul", {{3, 5}, {2, 4, 5, 7}}, {2, 4, 3, 7}},
                      ProductCase{"onnx.MatMul", {{2, 1, 3, 5}, {1, 4, 5, 7}}, {2, 4, 3, 7}},
                      ProductCase{"onnx.MatMul", {{2, 1, 2, 3, 5}, {1, 3, 1, 5, 7}}, {2, 3, 2, 3, 7}},
                      ProductCase{"onnx.MatMul", {{4, 5, 3}, {4, 5, 7}}, {4, 3, 7}, {{"transA", true}}},
                      ProductCase{"onnx.MatMul", {{4, 3, 5}, {4, 7, 5}}, {4, 3, 7}, {{"transB", true}}},
                      ProductCase{"onnx.MatMul", {{3, 0}, {0, 7}}, {3, 7}},
                      ProductCase{"onnx.MatMul", {{0, 5}, {5, 7}}, {0, 7}}));

INSTANTIATE_TEST_SUITE_P(
    Gemm, CudaProducts,
    ::testing::Values(
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}}, {3, 7}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}, {7}}, {3, 7}},
        ProductCase{"onnx.Gemm", {{2, 3, 5}, {7, 5}, {7}}, {2, 3, 7}, {{"transB", true}}},
        ProductCase{"onnx.Gemm", {{5, 3}, {5, 7}, {1, 7}}, {3, 7}, {{"transA", true}, {"alpha", 0.5}}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}, {7}}, {3, 7}, {{"beta", -2.0}}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}, {3, 7}}, {3, 7}, {{"beta", 0.25}}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}, {3, 1}}, {3, 7}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 1}, {3, 1}}, {3, 1}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}, {1, 1}}, {3, 7}, {{"alpha", 2.0}, {"beta", 3.0}}},
        ProductCase{"onnx.Gemm", {{3, 5}, {5, 7}, {7}}, {3, 7}, {{"beta", 0.0}}}));

/// Sums of 16-bit products in f32, with and without a sum so far.
TEST(CudaWideSums, EqualTheHostsResults) {
  for (const char *type : {"bf16", "f16"})
    for (const bool adds : {false, true}) {
      std::vector<std::vector<int64_t>> inputs = {{5, 3}, {5, 7}};
      if (adds)
        inputs.push_back({3, 7});
      expectSameOnBoth(callProgram("onnx.Gemm", type, inputs, {3, 7}, {{"transA", true}, {"wide", true}}));
    }
}

struct PaddedCase {
  ProductCase dense;
  std::vector<std::vector<int64_t>> inputs; ///< as they lie
  std::vector<int64_t> output;
};

class CudaPaddedRows : public ::testing::TestWithParam<PaddedCase> {};

TEST_P(CudaPaddedRows, EqualDenseOnes) {
  const auto &[dense, inputs, output] = GetParam();
  std::vector<int64_t> widths;
  for (const std::vector<int64_t> &shape : dense.inputs)
    widths.push_back(shape.back());
  widths.push_back(dense.output.back());
  json attrs = dense.attrs;
  attrs["widths"] = {widths[0], widths[1], widths.back()};
  for (const char *type : {"f32", "bf16", "f16"})
    expectSameRows(callProgram(dense.name, type, dense.inputs, dense.output, dense.attrs),
                   callProgram(dense.name, type, inputs, output, attrs), widths);
}

INSTANTIATE_TEST_SUITE_P(
    Products, CudaPaddedRows,
    ::testing::Values(
        PaddedCase{{"onnx.MatMul", {{3, 5}, {5, 7}}, {3, 7}}, {{3, 8}, {5, 16}}, {3, 24}},
        PaddedCase{{"onnx.MatMul", {{2, 3, 5}, {7, 5}}, {2, 3, 7}, {{"transB", true}}},
                   {{2, 3, 5}, {7, 8}},
                   {2, 3, 8}},
        PaddedCase{{"onnx.MatMul", {{2, 3, 5}, {5, 7}}, {2, 3, 7}}, {{2, 3, 8}, {5, 7}}, {2, 3, 7}},
        PaddedCase{{"onnx.Gemm", {{3, 5}, {5, 7}, {7}}, {3, 7}}, {{3, 5}, {5, 7}, {7}}, {3, 16}},
        // Room for wide matrices, in 16 bits: of B and Y, and of B alone, where Y is copied back.
        PaddedCase{{"onnx.Gemm", {{3, 5}, {5, 7}, {7}}, {3, 7}}, {{3, 5}, {5, 64}, {7}}, {3, 64}},
        PaddedCase{{"onnx.Gemm", {{3, 5}, {5, 7}, {7}}, {3, 7}}, {{3, 5}, {5, 64}, {7}}, {3, 7}},
        PaddedCase{{"onnx.Gemm", {{3, 5}, {5, 7}, {3, 7}}, {3, 7}}, {{3, 5}, {5, 64}, {3, 7}}, {3, 7}},
        PaddedCase{{"onnx.Gemm", {{5, 3}, {5, 7}, {3, 7}}, {3, 7}, {{"transA", true}}},
                   {{5, 8}, {5, 7}, {3, 7}},
                   {3, 7}}));

TEST(CudaLibraryCalls, BiasesOfPaddedRowsAreSpreadWhereTheLibraryAddsNone) {
  const ScopedVariable refuses("KEDGE_STUB_NO_BIAS", "1");
  expectSameRows(callProgram("onnx.Gemm", "f32", {{3, 5}, {5, 7}, {7}}, {3, 7}, json::object()),
                 callProgram("onnx.Gemm", "f32", {{3, 5}, {5, 7}, {7}}, {3, 16}, {{"widths", {5, 7, 7}}}),
                 {5, 7, 7, 7});
}

TEST(CudaLibraryCalls, PaddedRowsHaveTheirLimits) {
  const auto refusal = [](std::vector<int64_t> a, std::vector<int64_t> b, std::vector<int64_t> c,
                          std::vector<int64_t> y, json widths) {
    const rt::DType f32 = rt::DType::F32;
    rt::calls::LibraryCall call{
        c.empty() ? "onnx.MatMul" : "onnx.Gemm", {{"widths", widths}}, {{f32, a}, {f32, b}}, {{f32, y}}};
    if (!c.empty())
      call.inputs.push_back({f32, c});
    try {
      rt::calls::matmulCallsOf(call);
      return std::string();
    } catch (const rt::RuntimeError &error) {
      return std::string(error.what());
    }
  };
  const std::vector<int64_t> widths{5, 7, 7};
  EXPECT_EQ(refusal({3, 5}, {5, 7}, {}, {3, 16}, widths), "");
  EXPECT_NE(refusal({2, 3, 5}, {2, 5, 7}, {}, {2, 3, 16}, widths).find("rows are padded in single products"),
            std::string::npos);
  EXPECT_NE(refusal({3, 5}, {5, 7}, {3, 7}, {3, 16}, widths).find("to which no more than a bias is added"),
            std::string::npos);
  EXPECT_NE(refusal({3, 5}, {5, 7}, {}, {3, 16}, {5, 7}).find("three widths of rows are expected"),
            std::string::npos);
  EXPECT_NE(
      refusal({3, 5}, {5, 7}, {}, {3, 6}, widths).find("rows of 7 elements are longer than the tensor's"),
      std::string::npos);
  const rt::DType f32 = rt::DType::F32;
  try {
    rt::calls::makeKernel(
        {"onnx.MatMul", {{"widths", widths}}, {{f32, {3, 5}}, {f32, {5, 7}}}, {{f32, {3, 16}}}}, 1);
    ADD_FAILURE() << "the CPU takes dense rows alone";
  } catch (const rt::RuntimeError &error) {
    EXPECT_NE(std::string(error.what()).find("rows are padded for CUDA alone"), std::string::npos)
        << error.what();
  }
}

class CudaConvolutions : public ::testing::TestWithParam<ProductCase> {};

TEST_P(CudaConvolutions, EqualTheHostsResults) {
  const ProductCase &c = GetParam();
  expectSameOnBoth(callProgram(c.name, "f32", c.inputs, c.output, c.attrs));
  if (c.inputs.size() == 2) // a bias of 16 bits would be added after rounding
    for (const char *type : {"bf16", "f16"})
      expectSameOnBoth(callProgram(c.name, type, c.inputs, c.output, c.attrs));
}

const json kPlain = {{"pads", {1, 1, 1, 1}}};
const json kStrided = {{"pads", {1, 2, 1, 2}}, {"strides", {2, 1}}, {"dilations", {1, 2}}};
const json kGroups = {{"pads", {0, 0, 0, 0}}, {"group", 2}};

INSTANTIATE_TEST_SUITE_P(
    Conv, CudaConvolutions,
    ::testing::Values(
        ProductCase{"onnx.Conv", {{2, 3, 5, 6}, {4, 3, 3, 3}}, {2, 4, 5, 6}, kPlain},
        ProductCase{"onnx.Conv", {{2, 3, 5, 6}, {4, 3, 3, 3}, {4}}, {2, 4, 3, 6}, kStrided},
        ProductCase{"onnx.Conv", {{2, 4, 5, 6}, {6, 2, 2, 3}, {6}}, {2, 6, 4, 4}, kGroups},
        ProductCase{"onnx.Conv", {{2, 3, 9}, {4, 3, 3}}, {2, 4, 5}, {{"strides", {2}}, {"pads", {1, 1}}}},
        ProductCase{"onnx.Conv", {{1, 2, 4, 5, 6}, {3, 2, 2, 3, 1}, {3}}, {1, 3, 3, 3, 6}},
        ProductCase{"train.conv_grad_input", {{2, 4, 3, 6}, {4, 3, 3, 3}}, {2, 3, 5, 6}, kStrided},
        ProductCase{"train.conv_grad_input", {{2, 6, 4, 4}, {6, 2, 2, 3}}, {2, 4, 5, 6}, kGroups},
        ProductCase{"train.conv_grad_weight", {{2, 3, 5, 6}, {2, 4, 3, 6}}, {4, 3, 3, 3}, kStrided},
        ProductCase{"train.conv_grad_weight", {{2, 4, 5, 6}, {2, 6, 4, 4}}, {6, 2, 2, 3}, kGroups},
        ProductCase{"onnx.ConvTranspose", {{2, 4, 3, 6}, {4, 3, 3, 3}, {3}}, {2, 3, 5, 6}, kStrided},
        ProductCase{"train.conv_transpose_grad_input", {{2, 3, 5, 6}, {4, 3, 3, 3}}, {2, 4, 3, 6}, kStrided},
        ProductCase{
            "train.conv_transpose_grad_weight", {{2, 4, 3, 6}, {2, 3, 5, 6}}, {4, 3, 3, 3}, kStrided}));

TEST(CudaGradients, WithoutAPlainAlgorithmATransformIsTaken) {
  const json image =
      callProgram("train.conv_grad_input", "f32", {{2, 4, 3, 6}, {4, 3, 3, 3}}, {2, 3, 5, 6}, kStrided);
  const json filter =
      callProgram("train.conv_grad_weight", "f32", {{2, 3, 5, 6}, {2, 4, 3, 6}}, {4, 3, 3, 3}, kStrided);
  for (const char *when : {"query", "run"})
    for (const char *status : {"3000", "3002", "3007", "3014"}) {
      const ScopedVariable refuses("KEDGE_STUB_REFUSES_PLAIN", when), refusal("KEDGE_STUB_REFUSAL", status);
      expectSameOnBoth(image);
      EXPECT_EQ(stubCalls().back().rfind("cuDevicePrimaryCtxRelease", 0), 0u);
      expectSameOnBoth(filter);
    }
  {
    const ScopedVariable refuses("KEDGE_STUB_REFUSES_PLAIN", "run"), refusal("KEDGE_STUB_REFUSAL", "5000");
    EXPECT_THROW(expectSameOnBoth(image), rt::RuntimeError) << "what fails is no refusal";
  }
  const auto plain = [](const std::string &line) {
    return line.rfind("cudnnConvolutionBackwardData algorithm 1", 0) == 0;
  };
  const std::vector<std::string> calls = stubCalls();
  const size_t before = static_cast<size_t>(std::count_if(calls.begin(), calls.end(), plain));
  expectSameOnBoth(image);
  const std::vector<std::string> after = stubCalls();
  EXPECT_GT(static_cast<size_t>(std::count_if(after.begin(), after.end(), plain)), before)
      << "where cuDNN takes it";
}

/// The engine of cuDNN's graph API that the last convolution ran on.
std::string lastEngine() {
  std::string found;
  for (const std::string &line : stubCalls())
    if (line.rfind("cudnnBackendExecute engine ", 0) == 0)
      found = line.substr(27, 1);
  return found;
}

TEST(CudaGraphConvolutions, TakeTheFirstDeterministicEngineThatHasRoom) {
  const json call = callProgram("onnx.Conv", "bf16", {{2, 3, 5, 6}, {4, 3, 3, 3}}, {2, 4, 5, 6}, kPlain);
  expectSameOnBoth(call);
  EXPECT_EQ(lastEngine(), "2") << "the first of the heuristics is not deterministic";
  {
    const ScopedVariable more("KEDGE_STUB_WORKSPACE", "1000000000000");
    expectSameOnBoth(call);
    EXPECT_EQ(lastEngine(), "3") << "what needs too much gives way to what needs less";
  }
  {
    const ScopedVariable refuses("KEDGE_STUB_REFUSES_PLAIN", "query");
    expectSameOnBoth(call);
    EXPECT_EQ(lastEngine(), "3");
  }
  const ScopedVariable refuses("KEDGE_STUB_REFUSES_PLAIN", "run");
  try {
    expectSameOnBoth(call);
    ADD_FAILURE() << "no engine is left";
  } catch (const rt::RuntimeError &error) {
    EXPECT_NE(std::string(error.what())
                  .find("cuDNN has no deterministic engine for a convolution of image [2,3,5,6]"),
              std::string::npos)
        << error.what();
  }
}

TEST(CudaLibraryCalls, WhatTheLibrariesDoNotTakeIsRefusedWhenCompiling) {
  const auto refusal = [](const rt::calls::LibraryCall &call) -> std::string {
    try {
      rt::calls::plannedWorkspaceBytes(call);
      return "";
    } catch (const rt::RuntimeError &error) {
      return error.what();
    }
  };
  const rt::DType f32 = rt::DType::F32, i64 = rt::DType::I64;
  const json uneven = {{"pads", {0, 0, 1, 1}}};
  EXPECT_NE(refusal({"onnx.Conv", uneven, {{f32, {1, 1, 4, 4}}, {f32, {1, 1, 2, 2}}}, {{f32, {1, 1, 4, 4}}}})
                .find("equal pads at both ends"),
            std::string::npos);
  using rt::calls::CudnnTypes, rt::calls::cudnnTakes;
  EXPECT_FALSE(
      cudnnTakes({"onnx.Conv", uneven, {{f32, {1, 1, 4, 4}}, {f32, {1, 1, 2, 2}}}, {{f32, {1, 1, 4, 4}}}},
                 CudnnTypes::All));
  const auto plain = [](rt::DType type, bool bias) {
    rt::calls::LibraryCall call{
        "onnx.Conv", kPlain, {{type, {1, 2, 4, 4}}, {type, {2, 2, 3, 3}}}, {{type, {1, 2, 4, 4}}}};
    if (bias)
      call.inputs.push_back({type, {2}});
    return call;
  };
  EXPECT_TRUE(cudnnTakes(plain(f32, true), CudnnTypes::Wide));
  EXPECT_FALSE(cudnnTakes(plain(rt::DType::BF16, false), CudnnTypes::Wide));
  EXPECT_TRUE(cudnnTakes(plain(rt::DType::BF16, false), CudnnTypes::All));
  EXPECT_FALSE(cudnnTakes(plain(rt::DType::F16, true), CudnnTypes::All)) << "the sum would be rounded twice";
  EXPECT_NE(refusal({"onnx.MatMul", json::object(), {{i64, {2, 2}}, {i64, {2, 2}}}, {{i64, {2, 2}}}})
                .find("f32, f64, bf16 and f16"),
            std::string::npos);
  EXPECT_EQ(refusal({"onnx.MatMul", json::object(), {{f32, {2, 2}}, {f32, {2, 2}}}, {{f32, {2, 2}}}}), "");
}

TEST(CudaLibraryCalls, BatchesAreCutIntoAsFewCallsAsStridesAllow) {
  const auto calls = [](std::vector<int64_t> a, std::vector<int64_t> b, std::vector<int64_t> y) {
    const rt::DType f32 = rt::DType::F32;
    return rt::calls::matmulCallsOf({"onnx.MatMul", json::object(), {{f32, a}, {f32, b}}, {{f32, y}}});
  };
  EXPECT_EQ(calls({8, 12, 64, 32}, {8, 12, 32, 64}, {8, 12, 64, 64}).offsetsA.size(), 1u);
  EXPECT_EQ(calls({8, 12, 64, 32}, {8, 12, 32, 64}, {8, 12, 64, 64}).shape.batch, 96);
  const auto merged = calls({8, 128, 32}, {32, 64}, {8, 128, 64});
  EXPECT_EQ(merged.shape.m, 8 * 128);
  EXPECT_EQ(merged.shape.batch, 1);
  EXPECT_EQ(calls({2, 1, 3, 5}, {1, 4, 5, 7}, {2, 4, 3, 7}).offsetsA.size(), 2u);
  EXPECT_EQ(calls({2, 1, 3, 5}, {1, 4, 5, 7}, {2, 4, 3, 7}).shape.strideA, 0);
}

} // namespace
} // namespace kedge::test
