// The algorithm table: stored choices are used, others are the library's first proposal, and tuning writes
// the best.
#include "runtime/calls/AlgorithmTable.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Tune.h"
#include "test/support/ScopedVariable.h"
#include "test/support/TempFolder.h"
#include "test/unit/cuda/CudaProgram.h"
#include <algorithm>
#include <fstream>
#include <ranges>

namespace kedge::test {
namespace {

using nlohmann::json;
using rt::calls::AlgorithmTable;

TEST(AlgorithmTable, EntriesSurviveTheFile) {
  AlgorithmTable table;
  table.set("some 1 | GPU | a", {0x00, 0xff, 0x1a}, 2.5);
  table.set("some 1 | GPU | b", {0x01}, 0);
  AlgorithmTable other;
  other.add(json::parse(table.json().dump()), "here");
  EXPECT_EQ(other.size(), 2u);
  ASSERT_TRUE(other.find("some 1 | GPU | a"));
  EXPECT_EQ(other.find("some 1 | GPU | a")->algorithm, rt::calls::AlgorithmBytes({0x00, 0xff, 0x1a}));
  EXPECT_EQ(other.find("some 1 | GPU | a")->source, "here");
  EXPECT_FALSE(other.find("c"));
  EXPECT_EQ(other.json(), table.json());
}

TEST(AlgorithmTable, DamagedTablesAreRefusedByName) {
  const auto expectRefusal = [](const std::string &text, const std::string &part) {
    AlgorithmTable table;
    try {
      table.add(json::parse(text), "tables/h200.json");
      ADD_FAILURE() << text;
    } catch (const rt::RuntimeError &error) {
      for (const std::string &expected :
           {std::string("tables/h200.json"), part, std::string("kedge-bench tune")})
        EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  const std::string good = R"({"key": "some 1 | GPU | f32", "algorithm": "00"})";
  expectRefusal("{}", "entries are object, expected a list");
  expectRefusal("[" + good + ", {\"key\": \"some 1 | GPU | f64\"}]", "entry 1: expected {");
  expectRefusal("[" + good + ", " + good + "]", "entry 1: its key 'some 1 | GPU | f32' occurs twice");
  expectRefusal(R"([{"key": "f32", "algorithm": "00"}])",
                "entry 0: its key is 'f32', expected 'LIBRARY VERSION | DEVICE | CALL'");
  expectRefusal(R"([{"key": "some 1 | GPU | f32", "algorithm": "0g"}])", "entry 0: '0g' is no algorithm");
  expectRefusal(R"([{"key": "some 1 | GPU | f32", "algorithm": "012"}])",
                "even number of hexadecimal digits");
  expectRefusal(R"([{"key": "cublaslt 1 | GPU | f32", "algorithm": "03"}])", "has 1 bytes, expected 64");
}

TEST(AlgorithmTable, KeysTellEverythingThatDecides) {
  rt::calls::MatmulShape shape;
  shape.m = 3, shape.n = 7, shape.k = 5;
  std::vector<std::string> keys = {shape.key()};
  const auto change = [&](auto &&body) {
    rt::calls::MatmulShape other = shape;
    body(other);
    keys.push_back(other.key());
  };
  change([](auto &s) { s.type = rt::DType::F64; });
  change([](auto &s) { s.transA = true; });
  change([](auto &s) { s.transB = true; });
  change([](auto &s) { s.batch = 2; });
  change([](auto &s) { s.strideA = 15; });
  change([](auto &s) { s.strideB = 35; });
  change([](auto &s) { s.alpha = 0.5; });
  change([](auto &s) { s.beta = 1; });
  change([](auto &s) { s.bias = true; });
  for (const auto epilogue :
       {rt::calls::Epilogue::Gelu, rt::calls::Epilogue::GeluKept, rt::calls::Epilogue::GeluGrad,
        rt::calls::Epilogue::GeluGradSums, rt::calls::Epilogue::SumsOfA, rt::calls::Epilogue::SumsOfB})
    change([&](auto &s) { s.epilogue = epilogue; });
  change([](auto &s) { s.bias = true, s.epilogue = rt::calls::Epilogue::Gelu; });
  change([](auto &s) { s.alignment = 16; });
  change([](auto &s) { s.workspaceBytes = 1; });
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

class CudaAlgorithms : public ::testing::Test {
protected:
  void SetUp() override {
    program = callProgram("onnx.MatMul", "f32", {{3, 5}, {5, 7}}, {3, 7}, json::object());
    expectSameOnBoth(program); // opens the stand-ins
    program["target"] = {{"kind", "cuda"}, {"arch", "sm_90"}};
  }

  /// The algorithm that the stand-in is given: the first word of its bytes.
  std::string chosen(const json &target) {
    json changed = program;
    changed["target"].update(target);
    const std::string text = changed.dump();
    const rt::Program parsed = rt::parseProgram(text);
    rt::ProgramImage image;
    image.json = text;
    image.device = rt::cuda::makeCudaDevice;
    rt::Executor executor(parsed, image, 1);
    executor.run("f");
    executor.output("f", "y");
    for (const std::vector<std::string> calls = stubCalls();
         const std::string &line : std::views::reverse(calls))
      if (line.rfind("cublasLtMatmul ", 0) == 0)
        return line;
    return "no product";
  }

  json tuned() {
    TempFolder folder;
    const std::string path = folder.path("table.json");
    rt::cuda::tuneProgram(rt::parseProgram(program.dump()), path);
    std::ifstream file(path);
    return json::parse(file).at("entries");
  }

  json program;
};

TEST_F(CudaAlgorithms, ProposalsThatDoNotRunAreLeftOut) {
  const ScopedVariable refuses("KEDGE_STUB_REFUSES", "1");
  const json entries = tuned();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].at("algorithm").get<std::string>().substr(0, 2), "02");
}

TEST_F(CudaAlgorithms, SmallProductsOfRandomNumbersAreTimedInBatches) {
  const auto products = [](size_t since) {
    std::vector<std::string> calls = stubCalls();
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(since));
    std::erase_if(calls, [](const std::string &line) { return line.rfind("cublasLtMatmul ", 0) != 0; });
    return calls;
  };
  size_t since = stubCalls().size();
  tuned();
  EXPECT_EQ(products(since).size(), 3u * (1 + 1 + 11));
  for (const std::string &line : products(since))
    EXPECT_EQ(line.find("of zeros"), std::string::npos) << line;
  since = stubCalls().size();
  const ScopedVariable events("KEDGE_STUB_EVENTS", "10");
  EXPECT_NEAR(tuned()[0].at("microseconds").get<double>(), 0.5, 1e-6); // 10 of a batch of 20
  EXPECT_EQ(products(since).size(), 3u * (1 + 1 + 11 * 20));
}

TEST_F(CudaAlgorithms, ABiasWithoutAlgorithmIsAddedApart) {
  const ScopedVariable noBias("KEDGE_STUB_NO_BIAS", "1");
  program = callProgram("onnx.Gemm", "f32", {{3, 5}, {5, 7}, {7}}, {3, 7}, json::object());
  expectSameOnBoth(program);
  program["target"] = {{"kind", "cuda"}, {"arch", "sm_90"}};
  const json entries = tuned();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_NE(entries[0].at("key").get<std::string>().find("alpha 1 beta 1 plain"), std::string::npos)
      << entries;
  json second = entries;
  second[0]["algorithm"] = "02" + std::string(126, '0');
  EXPECT_NE(chosen({{"algorithms", second}}).find("algorithm 2 "), std::string::npos)
      << "the table knows it apart, too";
  const rt::Program parsed = rt::parseProgram(program.dump());
  EXPECT_EQ(rt::calls::productKeys(parsed, true).count(*rt::calls::callOfKey(entries[0].at("key"))), 1u);
}

TEST_F(CudaAlgorithms, GelusDerivativeIsTimedBothWays) {
  program = callProgram("onnx.Gemm", "bf16", {{4, 8}, {8, 16}, {4, 16}}, {4, 16}, json::object());
  program["functions"]["f"]["launches"][0].update(
      {{"library", "train.fused_product"},
       {"attrs", {{"epilogue", "gelu_grad"}, {"transA", false}, {"transB", false}}}});
  program["target"] = {{"kind", "cuda"}, {"arch", "sm_90"}};
  // All takes equally long here, so one launch is faster than two.
  const json fused = tuned();
  ASSERT_EQ(fused.size(), 1u);
  EXPECT_NE(chosen({{"algorithms", fused}}).find("epilogue 192"), std::string::npos) << fused;
  EXPECT_EQ(chosen(json::object()).find("epilogue 192"), std::string::npos) << "without an entry: apart";
  const ScopedVariable noEpilogue("KEDGE_STUB_NO_EPILOGUE", "1");
  const json apart = tuned();
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_NE(apart[0].at("key"), fused[0].at("key"));
}

TEST_F(CudaAlgorithms, TuningKeepsTheFastestAndProgramsUseIt) {
  TempFolder folder;
  const std::string path = folder.path("table.json"), text = program.dump();
  rt::cuda::tuneProgram(rt::parseProgram(text), path);
  std::ifstream file(path);
  const json table = json::parse(file);
  EXPECT_EQ(table.at("device"), "Stub GPU");
  ASSERT_EQ(table.at("entries").size(), 1u);
  const json &entry = table.at("entries")[0];
  EXPECT_EQ(entry.at("key").get<std::string>().rfind("cublaslt 130100 | Stub GPU | f32 3x7x5 NN", 0), 0u)
      << entry;
  EXPECT_EQ(entry.at("algorithm").get<std::string>().size(), 2 * 64u);
  EXPECT_NE(chosen(json::object()).find("algorithm 1 "), std::string::npos);
  json third = table.at("entries");
  third[0]["algorithm"] = "03" + std::string(126, '0');
  EXPECT_NE(chosen({{"algorithms", third}}).find("algorithm 3 "), std::string::npos);
  third[0]["algorithm"] = "63" + std::string(126, '0');
  EXPECT_THROW(chosen({{"algorithms", third}}), rt::RuntimeError) << "the library does not take it";
}

} // namespace
} // namespace kedge::test
