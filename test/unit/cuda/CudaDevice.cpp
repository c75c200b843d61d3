// The GPU device against a driver that records calls and fails on demand: what reaches the GPU, in which
// order, and what a user reads when something is wrong.
#include "test/unit/runtime/RuntimeTest.h"
#include <filesystem>
#include <sstream>

namespace kedge::test {
namespace {

class CudaDevice : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    writeLineData(8);
  }

  /// Lines that the stand-ins recorded in a run that must succeed.
  std::vector<std::string> calls(const std::string &arguments, const std::string &environment = "") {
    std::filesystem::remove(path("calls.txt"));
    const RunResult result = run(arguments, environment + " KEDGE_STUB_LOG=calls.txt");
    EXPECT_EQ(result.code, 0) << result.err;
    std::vector<std::string> lines;
    std::istringstream stream(read("calls.txt"));
    for (std::string line; std::getline(stream, line);)
      lines.push_back(line);
    return lines;
  }

  static size_t count(const std::vector<std::string> &lines, const std::string &start) {
    return static_cast<size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string &line) { return line.rfind(start, 0) == 0; }));
  }

  /// One message, exit code 1, and no checkpoint of a state that an error may have spoilt.
  void expectRefusal(const std::string &environment, const std::vector<std::string> &parts,
                     const std::string &arguments = "line:4 --steps 5") {
    const RunResult result = run(arguments + kLineData, environment);
    EXPECT_EQ(result.code, 1) << environment;
    // One line, the last one; steps that went well may stand before it.
    const size_t message = result.err.find("kedge: error: ");
    ASSERT_NE(message, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\n', message), result.err.size() - 1) << result.err;
    for (const std::string &part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << "expected '" << part << "' in: " << result.err;
  }
};

TEST_F(CudaDevice, StepsBecomeGraphsAfterTheFirst) {
  const auto lines = calls(std::string("line:4 --steps 5") + kLineData);
  // Two stretches: up to the loss, and what follows when it is finite.
  EXPECT_EQ(count(lines, "cuStreamBeginCapture"), 2u);
  EXPECT_EQ(count(lines, "cuStreamEndCapture 3"), 2u);
  EXPECT_EQ(count(lines, "cuGraphLaunch 3"), 8u);
  // Once as they are, once into the graphs.
  EXPECT_EQ(count(lines, "cuLaunchKernel line_forward grid 4 1 1 block 1 1 1"), 2u);
  EXPECT_EQ(count(lines, "cuLaunchKernel line_update"), 2u);
}

TEST_F(CudaDevice, AStepCopiesItsInputsAndOneBlockOfScalars) {
  const auto five = calls(std::string("line:4 --steps 5") + kLineData);
  const auto nine = calls(std::string("line:4 --steps 9") + kLineData);
  // x and labels lie side by side, and so do the scalars.
  EXPECT_EQ(count(nine, "cuMemcpyHtoDAsync") - count(five, "cuMemcpyHtoDAsync"), 4u * 2u);
  // The loss before the update, the norm after it.
  EXPECT_EQ(count(nine, "cuStreamSynchronize") - count(five, "cuStreamSynchronize"), 4u * 2u);
  EXPECT_EQ(count(nine, "cuMemAlloc"), 1u);
  EXPECT_EQ(count(nine, "cuMemHostAlloc"), count(five, "cuMemHostAlloc"));
}

TEST_F(CudaDevice, ScalarsAndInputsPrecedeTheGraphThatReadsThem) {
  const auto lines = calls(std::string("line:4 --steps 5") + kLineData);
  const auto last = std::find(lines.rbegin(), lines.rend(), "cuGraphLaunch 3");
  ASSERT_NE(last, lines.rend());
  const auto forward = std::find(std::next(last), lines.rend(), "cuGraphLaunch 3");
  ASSERT_NE(forward, lines.rend());
  for (int i = 1; i <= 2; ++i)
    EXPECT_EQ((forward + i)->rfind("cuMemcpyHtoDAsync", 0), 0u) << *(forward + i);
}

TEST_F(CudaDevice, MachineCodeFirstThenPtx) {
  EXPECT_EQ(count(calls(std::string("line:4 --steps 1") + kLineData), "cuModuleLoadDataEx cubin"), 1u);
  const auto other = calls(std::string("line:4 --steps 1") + kLineData, "KEDGE_STUB_CAPABILITY=120");
  EXPECT_EQ(count(other, "cuModuleLoadDataEx cubin"), 0u);
  EXPECT_EQ(count(other, "cuModuleLoadDataEx ptx"), 1u);
  const auto refused =
      calls(std::string("line:4 --steps 1") + kLineData, "KEDGE_STUB_FAIL=cuModuleLoadDataEx:1:200");
  EXPECT_EQ(count(refused, "cuModuleLoadDataEx ptx"), 1u);
  expectRefusal("KEDGE_STUB_CAPABILITY=120 KEDGE_STUB_FAIL=cuModuleLoadDataEx:1:222",
                {"PTX for sm_90", "(CUDA_ERROR_222"});
}

TEST_F(CudaDevice, EverythingIsGivenBack) {
  const auto lines = calls(std::string("line:4 --steps 3") + kLineData);
  EXPECT_EQ(lines.back(), "cuDevicePrimaryCtxRelease allocations 0");
}

TEST_F(CudaDevice, WhatIsMissingIsSaid) {
  expectRefusal("LD_LIBRARY_PATH=/nowhere",
                {"libcuda.so.1 was not found", "LD_LIBRARY_PATH=/nowhere", "NVIDIA's driver"});
  expectRefusal("KEDGE_STUB_GPUS=0", {"no GPU that the driver sees", "--target cpu"});
  expectRefusal("KEDGE_STUB_DRIVER=12000",
                {"driver is too old", "CUDA 12.0", "CUDA 12.1", "install a newer driver"});
  EXPECT_EQ(run(std::string("line:4 --steps 1") + kLineData, "KEDGE_STUB_DRIVER=12010").code, 0);
  expectRefusal("KEDGE_STUB_CAPABILITY=86",
                {"compiled for sm_90", "'Stub GPU' is an sm_86", "--target cuda:sm_86"});
  expectRefusal("KEDGE_STUB_CAPABILITY=87", {"'Stub GPU' is an sm_87: compile it with --target cuda:sm_86"});
  expectRefusal("KEDGE_STUB_CAPABILITY=75",
                {"'Stub GPU' is an sm_75: Kedge needs sm_80 or newer; run it on another GPU"});
}

TEST_F(CudaDevice, TooLittleMemoryIsSaidBeforeTraining) {
  expectRefusal("KEDGE_STUB_FREE=1000",
                {"too little memory", "the program's arena needs", "1000 bytes", "does not tell who"});
  expectRefusal("KEDGE_STUB_FREE=1000 KEDGE_STUB_HOLDER=3221225472",
                {"held by process 4711 (other-program): 3.00 GiB", "--memory-budget"});
  expectRefusal("KEDGE_STUB_FAIL=cuMemAlloc:1:2", {"too little memory"});
}

TEST_F(CudaDevice, ErrorsOfAStepNameItsPlaceAndLeaveCheckpointsWhole) {
  const std::string checkpointed = "line:4 --steps 20 --checkpoint-dir ck --checkpoint-every 2";
  // A launch that is refused is known; one that fails later is known by its stretch.
  expectRefusal("KEDGE_STUB_FAIL=cuLaunchKernel:2:1", {"line_loss_rows at loss", "does not start"});
  expectRefusal("KEDGE_STUB_FAIL=cuStreamSynchronize:20:700",
                {"'Stub GPU' stopped in launches", "@step", "KEDGE_CUDA_SYNC=1"}, checkpointed);
  std::vector<std::string> kept;
  for (const auto &entry : std::filesystem::directory_iterator(path("ck")))
    kept.push_back(entry.path().filename().string());
  ASSERT_FALSE(kept.empty());
  for (const std::string &name : kept)
    EXPECT_EQ(name.rfind("step-", 0), 0u) << name;
  EXPECT_EQ(run(std::string("line:4 --steps 20 --resume --checkpoint-dir ck") + kLineData).code, 0);
  expectRefusal("KEDGE_CUDA_SYNC=1 KEDGE_STUB_FAIL=cuLaunchKernel:9:716", {"kernel sum_rows at loss"});
  expectRefusal("KEDGE_STUB_FAIL=cuGraphLaunch:3:214",
                {"@step does not start", "memory is faulty", "--resume on another GPU"});
}

TEST_F(CudaDevice, LaunchByLaunchGivesTheSameNumbers) {
  const auto expected = withoutTimes(train(std::string("line:4 --steps 6") + kLineData));
  run(std::string("line:4 --steps 6 --threads 2 --log slow.jsonl") + kLineData, "KEDGE_CUDA_SYNC=1");
  EXPECT_EQ(withoutTimes(readLog("slow.jsonl")), expected);
}

TEST_F(CudaDevice, ProfilesHaveTheGpusTimes) {
  calls(std::string("line:4 --steps 2 --profile trace.json") + kLineData);
  const auto events = nlohmann::json::parse(read("trace.json")).at("traceEvents");
  ASSERT_EQ(events.size(), 14u); // two of them steps
  EXPECT_EQ(events[0].at("name"), "line_forward");
  EXPECT_DOUBLE_EQ(events[1].at("dur").get<double>(),
                   500.0); // the stand-in's events are half a millisecond apart
}

TEST_F(CudaDevice, TheMemoryReportHasTheDriversFigures) {
  calls(std::string("line:4 --steps 2 --memory-report memory.json") + kLineData);
  const auto report = nlohmann::json::parse(read("memory.json"));
  EXPECT_EQ(report.at("device").at("name"), "Stub GPU");
  EXPECT_EQ(report.at("device").at("planned_bytes"), report.at("arena_bytes"));
  EXPECT_EQ(report.at("device").at("process_bytes"), 123456);
  EXPECT_EQ(report.at("reservations")[0].at("name"), "cuda_context");
  EXPECT_EQ(report.at("reservations")[0].at("bytes"), 4096);
}

} // namespace
} // namespace kedge::test
