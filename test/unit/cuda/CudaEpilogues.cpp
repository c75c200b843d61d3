// Products with epilogues on the GPU device, against sums written out here: the stand-in computes epilogues
// from cuBLASLt's descriptors by the header's rules.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/format/Convert.h"
#include "test/support/ScopedVariable.h"
#include "test/unit/cuda/CudaProgram.h"
#include <algorithm>
#include <cmath>

namespace kedge::test {
namespace {

using nlohmann::json;
using Matrix = std::vector<double>;

struct EpilogueCase {
  std::string epilogue;
  bool transA = false, transB = false, second = false, bias = false;
};

constexpr int64_t kRows = 6, kColumns = 16, kDepth = 24;

double power(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
double gelu(double x) { return 0.5 * x * (1 + std::tanh(power(x))); }
double slope(double x) { return (gelu(x + 1e-6) - gelu(x - 1e-6)) / 2e-6; }

bool isGradient(const EpilogueCase &c) { return c.epilogue == "gelu_grad"; }

std::vector<std::vector<int64_t>> inputShapes(const EpilogueCase &c) {
  std::vector<std::vector<int64_t>> shapes{{kRows, kDepth}, {kDepth, kColumns}};
  if (c.transA)
    std::reverse(shapes[0].begin(), shapes[0].end());
  if (c.transB)
    std::reverse(shapes[1].begin(), shapes[1].end());
  if (c.bias)
    shapes.push_back({kColumns});
  if (isGradient(c))
    shapes.push_back({kRows, kColumns});
  return shapes;
}

std::vector<std::vector<int64_t>> outputShapes(const EpilogueCase &c) {
  std::vector<std::vector<int64_t>> shapes{{kRows, kColumns}};
  if (c.second && c.epilogue == "gelu")
    shapes.push_back({kRows, kColumns});
  else if (c.second)
    shapes.push_back({c.epilogue == "sums_a" ? kRows : kColumns});
  return shapes;
}

/// What the model asks for, of numbers without rounding.
std::vector<Matrix> expected(const EpilogueCase &c, const std::vector<Matrix> &in) {
  std::vector<Matrix> out;
  for (const std::vector<int64_t> &shape : outputShapes(c))
    out.emplace_back(static_cast<size_t>(shape[0] * (shape.size() > 1 ? shape[1] : 1)));
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = c.bias ? in[2][j] : 0;
      for (int64_t k = 0; k < kDepth; ++k)
        sum += in[0][c.transA ? k * kRows + i : i * kDepth + k] *
               in[1][c.transB ? j * kDepth + k : k * kColumns + j];
      double &y = out[0][i * kColumns + j] = sum;
      if (c.epilogue == "gelu") {
        y = gelu(sum);
        if (c.second)
          out[1][i * kColumns + j] = sum;
      }
      if (isGradient(c)) {
        y = sum * slope(in[2][i * kColumns + j]);
        if (c.second)
          out[1][j] += y;
      }
    }
  for (int64_t k = 0; k < kDepth; ++k) {
    for (int64_t i = 0; c.epilogue == "sums_a" && i < kRows; ++i)
      out[1][i] += in[0][k * kRows + i];
    for (int64_t j = 0; c.epilogue == "sums_b" && j < kColumns; ++j)
      out[1][j] += in[1][k * kColumns + j];
  }
  return out;
}

json tensorAt(const std::string &name, const std::string &type, const std::vector<int64_t> &shape,
              uint64_t &offset) {
  json entry = {{"name", name}, {"dtype", type}, {"shape", shape}, {"offset", offset}};
  offset += (rt::TensorDesc{rt::parseDType(type), shape}.bytes() + 256) / 256 * 256;
  return entry;
}

rt::calls::LibraryCall callOf(const EpilogueCase &c, const std::string &type) {
  rt::calls::LibraryCall call{
      "train.fused_product", {{"epilogue", c.epilogue}, {"transA", c.transA}, {"transB", c.transB}}, {}, {}};
  for (const auto &shape : inputShapes(c))
    call.inputs.push_back({rt::parseDType(type), shape});
  for (const auto &shape : outputShapes(c))
    call.outputs.push_back({rt::parseDType(type), shape});
  return call;
}

json programOf(const EpilogueCase &c, const std::string &type) {
  const rt::calls::LibraryCall call = callOf(c, type);
  uint64_t offset = 0;
  json inputs = json::array(), outputs = json::array(), args = json::array();
  for (const rt::TensorDesc &input : call.inputs)
    inputs.push_back(tensorAt(std::to_string(inputs.size()), type, input.shape, offset));
  for (const rt::TensorDesc &output : call.outputs)
    outputs.push_back(tensorAt("y" + std::to_string(outputs.size()), type, output.shape, offset));
  for (const json &list : {inputs, outputs})
    for (const json &tensor : list)
      args.push_back(tensor["offset"]);
  const uint64_t workspace = rt::calls::plannedWorkspaceBytes(call);
  const json launch = {{"library", call.name},  {"attrs", call.attrs},
                       {"args", args},          {"reads", inputs.size()},
                       {"inputs", inputs},      {"outputs", outputs},
                       {"loc", "the.one.call"}, {"workspace", {{"offset", offset}, {"bytes", workspace}}}};
  return {{"format", 1},
          {"name", c.epilogue},
          {"target", {{"kind", "cuda"}, {"arch", "sm_90"}}},
          {"arena", {{"bytes", offset + workspace}, {"persistent_bytes", 0}, {"align", 256}}},
          {"inputs", inputs},
          {"functions",
           {{"f", {{"inputs", inputs}, {"outputs", outputs}, {"launches", json::array({launch})}}}}}};
}

void openStandIns() {
  expectSameOnBoth(callProgram("onnx.MatMul", "f32", {{3, 5}, {5, 7}}, {3, 7}, json::object()));
}

class CudaEpilogues : public ::testing::TestWithParam<EpilogueCase> {
protected:
  void SetUp() override {
    openStandIns();
    setenv("KEDGE_EPILOGUES", "fused", 1); // GELU's derivative, too: these programs bring no kernels along
  }
  void TearDown() override { unsetenv("KEDGE_EPILOGUES"); }
};

TEST_P(CudaEpilogues, AreThoseOfTheModel) {
  const EpilogueCase &c = GetParam();
  for (const std::string type : {"bf16", "f16"}) {
    const std::string text = programOf(c, type).dump();
    rt::ProgramImage image;
    image.json = text;
    image.device = rt::cuda::makeCudaDevice;
    const rt::Program program = rt::parseProgram(text);
    rt::Executor executor(program, image, 1);
    for (int run = 0; run < 3; ++run) { // as it is, recorded, as a graph
      std::vector<Matrix> in;
      int64_t number = run;
      for (const rt::InputSpec &input : program.inputs) {
        Matrix &values = in.emplace_back();
        for (int64_t i = 0; i < input.desc.elements(); ++i, ++number) {
          values.push_back(static_cast<double>(number * 7 % 23 - 11) / 16);
          rt::storeDouble(input.desc.type, executor.input("f", input.name), i, values.back());
        }
      }
      executor.run("f");
      const std::vector<Matrix> wanted = expected(c, in);
      for (size_t k = 0; k < wanted.size(); ++k)
        for (size_t i = 0; i < wanted[k].size(); ++i) {
          const double found = rt::loadAsDouble(
              rt::parseDType(type), executor.output("f", "y" + std::to_string(k)), static_cast<int64_t>(i));
          const double unit = type == "bf16" ? 0x1p-8 : 0x1p-11;
          ASSERT_NEAR(found, wanted[k][i], 1e-5 + unit * std::abs(wanted[k][i]))
              << c.epilogue << " " << type << " result " << k << ", " << i;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Products, CudaEpilogues,
    ::testing::Values(EpilogueCase{"gelu"}, EpilogueCase{"gelu", false, true, false, true},
                      EpilogueCase{"gelu", true, false, true}, EpilogueCase{"gelu", false, false, true, true},
                      EpilogueCase{"gelu_grad", false, true}, EpilogueCase{"gelu_grad", false, false, true},
                      EpilogueCase{"gelu_grad", false, true, true}, EpilogueCase{"sums_a", true, false, true},
                      EpilogueCase{"sums_a", true, true, true}, EpilogueCase{"sums_b", true, false, true},
                      EpilogueCase{"sums_b", false, false, true}));

TEST_P(CudaEpilogues, HaveKeysOfTheirOwnAndApart) {
  const rt::calls::MatmulCalls whole = rt::calls::matmulCallsOf(callOf(GetParam(), "bf16"));
  const rt::calls::MatmulCalls apart = rt::calls::withEpilogueApart(whole);
  EXPECT_FALSE(whole.apart);
  EXPECT_TRUE(apart.apart);
  EXPECT_NE(whole.shape.key(), apart.shape.key());
  EXPECT_EQ(apart.shape.bias, GetParam().bias);
  const rt::Program program = rt::parseProgram(programOf(GetParam(), "bf16").dump());
  EXPECT_EQ(rt::calls::productKeys(program).count(whole.shape.key()), 1u);
  EXPECT_EQ(rt::calls::productKeys(program, true).count(apart.shape.key()), 1u);
  EXPECT_EQ(rt::calls::productKeys(program, true).count(rt::calls::withBiasApart(apart).shape.key()), 1u);
}

/// sum = sum + a b, or a b in the first micro-batch; `micro` is at the given offset among the scalars.
json accumulateProgram(const std::string &type, const std::string &sum, bool isScalar = true) {
  uint64_t offset = 0;
  json a = tensorAt("a", type, {kRows, kDepth}, offset), b = tensorAt("b", type, {kDepth, kColumns}, offset);
  json y = tensorAt("y", sum, {kRows, kColumns}, offset), micro = tensorAt("micro", "i64", {}, offset);
  const rt::calls::LibraryCall call{"train.accumulate_product",
                                    json::object(),
                                    {{rt::parseDType(type), {kRows, kDepth}},
                                     {rt::parseDType(type), {kDepth, kColumns}},
                                     {rt::parseDType(sum), {kRows, kColumns}},
                                     {rt::DType::I64, {}}},
                                    {{rt::parseDType(sum), {kRows, kColumns}}}};
  const uint64_t workspace = rt::calls::plannedWorkspaceBytes(call);
  const json launch = {{"library", call.name},
                       {"attrs", call.attrs},
                       {"reads", 4},
                       {"inputs", {a, b, y, micro}},
                       {"outputs", {y}},
                       {"args", {a["offset"], b["offset"], y["offset"], micro["offset"], y["offset"]}},
                       {"loc", "the.one.call"},
                       {"workspace", {{"offset", offset}, {"bytes", workspace}}}};
  return {
      {"format", 1},
      {"name", "sums"},
      {"target", {{"kind", "cuda"}, {"arch", "sm_90"}}},
      {"arena", {{"bytes", offset + workspace}, {"persistent_bytes", 0}, {"align", 256}}},
      {"inputs", {a, b}},
      {"scalars", {{{"name", isScalar ? "micro" : "step"}, {"dtype", "i64"}, {"offset", micro["offset"]}}}},
      {"functions", {{"f", {{"inputs", {a, b}}, {"outputs", {y}}, {"launches", {launch}}}}}}};
}

class CudaSums : public ::testing::TestWithParam<std::pair<std::string, std::string>> {
protected:
  void SetUp() override { openStandIns(); }
};

TEST_P(CudaSums, TheFirstMicroBatchReplacesAndTheOthersAdd) {
  const auto &[type, sum] = GetParam();
  const std::string text = accumulateProgram(type, sum).dump();
  rt::ProgramImage image;
  image.json = text;
  image.device = rt::cuda::makeCudaDevice;
  const rt::Program program = rt::parseProgram(text);
  rt::Executor executor(program, image, 1);
  const auto put = [&](const char *name, int64_t count, double value) {
    for (int64_t i = 0; i < count; ++i)
      rt::storeDouble(rt::parseDType(type), executor.input("f", name), i, value * (i % 3 - 1));
  };
  const auto run = [&](int64_t micro, double value) {
    put("a", kRows * kDepth, value), put("b", kDepth * kColumns, 0.5);
    rt::storeDouble(rt::DType::I64, executor.device().scalar(program.scalars[0]), 0,
                    static_cast<double>(micro));
    executor.run("f");
  };
  const auto at = [&](int64_t i) {
    return rt::loadAsDouble(rt::parseDType(sum), executor.output("f", "y"), i);
  };
  for (int step = 0; step < 4; ++step) // each micro-batch as it is, recorded, and twice as a graph
    for (int64_t micro = 0; micro < 3; ++micro) {
      if (step == 2 && micro == 0) // what was there does not matter
        run(1, NAN);
      run(micro, 0.25 * (step + 1));
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        double product = 0;
        for (int64_t k = 0; k < kDepth; ++k)
          product += 0.25 * (step + 1) * ((i / kColumns * kDepth + k) % 3 - 1) * 0.5 *
                     ((k * kColumns + i % kColumns) % 3 - 1);
        ASSERT_EQ(at(i), static_cast<double>(micro + 1) * product) << step << " " << micro << " " << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaSums,
                         ::testing::Values(std::pair("f32", "f32"), std::pair("f64", "f64"),
                                           std::pair("bf16", "f32"), std::pair("f16", "f32")));

TEST(CudaSumsRules, TheHostMustKnowTheMicroBatch) {
  openStandIns();
  const std::string text = accumulateProgram("f32", "f32", false).dump();
  rt::ProgramImage image;
  image.json = text;
  image.device = rt::cuda::makeCudaDevice;
  const rt::Program program = rt::parseProgram(text);
  try {
    rt::Executor executor(program, image, 1);
    ADD_FAILURE() << "products wait for a number that the host does not write";
  } catch (const rt::RuntimeError &error) {
    EXPECT_NE(std::string(error.what()).find("is not given the number of the micro-batch"), std::string::npos)
        << error.what();
  }
}

TEST(CudaEpilogueRules, OthersAreRefusedWhenCompiling) {
  const auto refusal = [](rt::calls::LibraryCall call) -> std::string {
    try {
      rt::calls::plannedWorkspaceBytes(call);
      return "";
    } catch (const rt::RuntimeError &error) {
      return error.what();
    }
  };
  const EpilogueCase gradient{"gelu_grad", false, false, true};
  EXPECT_EQ(refusal(callOf(gradient, "bf16")), "");
  EXPECT_NE(refusal(callOf(gradient, "f32")).find("one product of 16-bit floats"), std::string::npos);
  EXPECT_NE(refusal(callOf({"relu"}, "bf16")).find("no epilogue 'relu'"), std::string::npos);
  EXPECT_NE(refusal(callOf({"sums_a", true}, "bf16")).find("no epilogue 'sums_a'"), std::string::npos)
      << "without a second result";
  const rt::DType bf16 = rt::DType::BF16;
  EXPECT_NE(refusal({"train.fused_product",
                     {{"epilogue", "gelu"}},
                     {{bf16, {3, 5}}, {bf16, {5, 12}}},
                     {{bf16, {3, 12}}, {bf16, {3, 12}}}})
                .find("rows of a multiple of 8 elements"),
            std::string::npos);
}

} // namespace
} // namespace kedge::test
