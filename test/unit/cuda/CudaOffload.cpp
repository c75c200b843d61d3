// Copies between the arenas beside launches: a driver that does them as late or as early as events allow
// gives the CPU's numbers, and other ones as soon as an event is not waited for.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include "test/unit/cuda/CudaProgram.h"
#include <set>

namespace kedge::test {
namespace {

using nlohmann::json;

constexpr int64_t kSide = 4;
constexpr uint64_t kX = 0, kW = 256, kA = 512, kB = 768, kY = 1024, kWorkspace = 1280;

json matrix() { return {{"dtype", "f32"}, {"shape", {kSide, kSide}}}; }

json product(uint64_t left, uint64_t right, uint64_t result, uint64_t workspaceBytes) {
  return {{"library", "onnx.MatMul"},
          {"args", {left, right, result}},
          {"reads", 2},
          {"inputs", {matrix(), matrix()}},
          {"outputs", {matrix()}},
          {"loc", "product"},
          {"workspace", {{"offset", kWorkspace}, {"bytes", workspaceBytes}}}};
}

json copy(uint64_t from, uint64_t to, int hostArg, int stream) {
  return {{"library", "copy"},     {"args", {from, to}}, {"reads", 1},
          {"host_arg", hostArg},   {"stream", stream},   {"inputs", {matrix()}},
          {"outputs", {matrix()}}, {"loc", "copy"}};
}

/// a = x w goes to host memory while b = w x is computed; b b takes a's bytes; a comes back into those of b.
json offloadProgram() {
  const rt::TensorDesc side{rt::DType::F32, {kSide, kSide}};
  const uint64_t bytes =
      rt::calls::plannedWorkspaceBytes({"onnx.MatMul", json::object(), {side, side}, {side}});
  json launches = {product(kX, kW, kA, bytes), copy(kA, 0, 1, 2), product(kW, kX, kB, bytes),
                   product(kB, kB, kA, bytes), copy(0, kB, 0, 1), product(kB, kA, kY, bytes)};
  launches[0]["records"] = 0;
  launches[1].update({{"waits", {0}}, {"records", 1}});
  launches[3].update({{"waits", {1}}, {"records", 2}});
  launches[4].update({{"waits", {2}}, {"records", 3}});
  launches[5]["waits"] = {3};
  json x = matrix(), w = matrix(), y = matrix();
  x.update({{"name", "0"}, {"offset", kX}});
  w.update({{"name", "1"}, {"offset", kW}});
  y.update({{"name", "y"}, {"offset", kY}});
  const json inputs = {x, w};
  return {{"format", 1},
          {"name", "offload"},
          {"arena", {{"bytes", kWorkspace + bytes}, {"persistent_bytes", 0}, {"align", 256}}},
          {"host_arena", {{"bytes", 256}, {"persistent_bytes", 0}, {"align", 256}}},
          {"inputs", inputs},
          {"functions", {{"f", {{"inputs", inputs}, {"outputs", {y}}, {"launches", launches}}}}}};
}

/// The same with a file in place of host memory.
json fileProgram() {
  json program = offloadProgram();
  program["host_arena"] = {{"bytes", 4096},
                           {"persistent_bytes", 4096},
                           {"align", 256},
                           {"files", {{{"directory", ::testing::TempDir()}, {"bytes", 4096}}}}};
  program["states"] = {{{"name", "s"},
                        {"role", "moment1"},
                        {"dtype", "f32"},
                        {"shape", {kSide, kSide}},
                        {"offset", 0},
                        {"space", "host"},
                        {"init", {{"kind", "zeros"}}}}};
  return program;
}

class CudaOffload : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override { setenv("KEDGE_STUB_COPIES", GetParam(), 1); }
  void TearDown() override { unsetenv("KEDGE_STUB_COPIES"); }
};

TEST_P(CudaOffload, CopiesBesideLaunchesGiveTheCpusNumbers) {
  EXPECT_TRUE(isSameOnBoth(offloadProgram()));
  size_t captures = 0, waits = 0;
  for (const std::string &line : stubCalls()) {
    captures += line.rfind("cuStreamEndCapture 6", 0) == 0;
    waits += line.rfind("cuStreamWaitEvent", 0) == 0;
  }
  EXPECT_GE(captures, 1u) << "the six launches of a run are one graph";
  EXPECT_GE(waits, 2u * (4 + 2 + 2))
      << "events, two streams that begin, two that end; twice: as they are, and recorded";
}

INSTANTIATE_TEST_SUITE_P(Copies, CudaOffload, ::testing::Values("late", "early"),
                         [](const auto &info) { return std::string(info.param); });

/// Whether the GPU's numbers are the CPU's when copies are done as late, or as early as they may.
bool isRight(const json &program) {
  bool right = true;
  for (const char *copies : {"late", "early"}) {
    setenv("KEDGE_STUB_COPIES", copies, 1);
    right &= isSameOnBoth(program);
  }
  unsetenv("KEDGE_STUB_COPIES");
  return right;
}

class CudaOffloadWaits : public ::testing::TestWithParam<json (*)()> {};

TEST_P(CudaOffloadWaits, EachIsNeeded) {
  const json program = GetParam()();
  ASSERT_TRUE(isRight(program));
  for (size_t at : {1, 3, 4, 5}) {
    json changed = program;
    changed["functions"]["f"]["launches"][at].erase("waits");
    EXPECT_FALSE(isRight(changed)) << "launch " << at << " does not wait";
  }
}

INSTANTIATE_TEST_SUITE_P(Places, CudaOffloadWaits, ::testing::Values(offloadProgram, fileProgram));

std::string refusal(const json &program) {
  try {
    isSameOnBoth(program);
    return "";
  } catch (const rt::RuntimeError &error) {
    return error.what();
  }
}

TEST(CudaOffloadErrors, DamagedStreamsAndEventsAreRefused) {
  const auto changed = [](size_t launch, const json &entries) {
    json program = offloadProgram();
    program["functions"]["f"]["launches"][launch].update(entries);
    return refusal(program);
  };
  EXPECT_NE(changed(3, {{"waits", {7}}}).find("waits for event 7, which no earlier launch records"),
            std::string::npos);
  EXPECT_NE(changed(3, {{"records", 0}}).find("two launches of @f record event 0"), std::string::npos);
  EXPECT_NE(changed(3, {{"stream", 1}}).find("is on stream 1"), std::string::npos);
  EXPECT_NE(changed(1, {{"stream", 3}}).find("is on stream 3"), std::string::npos);
  // Products have a workspace, which no other launch may need at the same time.
  EXPECT_NE(changed(3, {{"stream", 5}}).find("is on stream 5"), std::string::npos);
}

TEST(CudaOffloadErrors, TooLittleHostMemoryIsSaidBeforeItIsTaken) {
  json program = offloadProgram();
  program["target"] = {{"kind", "cuda"}, {"arch", "sm_90"}};
  program["host_arena"]["bytes"] = uint64_t(1) << 60;
  const std::string text = program.dump();
  const rt::Program parsed = rt::parseProgram(text);
  rt::ProgramImage image;
  image.json = text;
  image.device = rt::cuda::makeCudaDevice;
  try {
    rt::Executor(parsed, image, 1);
    ADD_FAILURE() << "accepted";
  } catch (const rt::RuntimeError &error) {
    const std::string message = error.what();
    for (const char *part : {"1152921504606846976 bytes (1073741824.00 GiB) of page-locked host memory",
                             "--offload keeps there", "are available", "--host-memory-budget"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

} // namespace
} // namespace kedge::test
