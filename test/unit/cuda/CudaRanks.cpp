// Several ranks, each a process with a simulated GPU: what NCCL is asked for, and how all of them end when
// one goes.
#include "runtime/cuda/library/Nccl.h"
#include "test/unit/runtime/RuntimeTest.h"
#include "test/unit/runtime/Torchrun.h"
#include <sstream>
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace kedge::test {
namespace {

#ifdef NCCL_MAJOR
// What the runtime declares is what NCCL's header does.
namespace nccl = rt::cuda::nccl;
static_assert(sizeof(nccl::Id) == sizeof(ncclUniqueId) && sizeof(nccl::Config) <= sizeof(ncclConfig_t));
static_assert(offsetof(nccl::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(nccl::Config, undefined) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(int(nccl::Type::Float16) == ncclFloat16 && int(nccl::Type::Float32) == ncclFloat32 &&
              int(nccl::Type::Float64) == ncclFloat64 && int(nccl::Type::Bfloat16) == ncclBfloat16 &&
              int(nccl::Type::Int32) == ncclInt32 && int(nccl::Type::Int64) == ncclInt64 &&
              int(nccl::Type::Uint8) == ncclUint8);
static_assert(int(nccl::Operation::Sum) == ncclSum && int(nccl::Operation::Max) == ncclMax);
static_assert(int(nccl::Status::Success) == ncclSuccess && int(nccl::Status::InProgress) == ncclInProgress);
#endif

class CudaRanks : public RuntimeTest {
protected:
  void SetUp() override {
#ifndef NCCL_MAJOR
    GTEST_SKIP() << "the stand-in for NCCL is made with its header, which is not here";
#endif
    RuntimeTest::SetUp();
    writeLineData(12);
  }

  /// Three ranks of two rows each.
  RunResult three(const std::string &arguments, const std::string &environment = "") {
    return runCommand(
        torchrun(3, tinyProgram() + " ranks:3:2 " + (kLineData + arguments) + " --threads 1 --comm-timeout 2",
                 "KEDGE_STUB_GPUS=3 " + environment));
  }
  /// One message in all, and a code other than 0.
  void expectOneError(const RunResult &result, const std::vector<std::string> &parts) {
    EXPECT_NE(result.code, 0);
    const size_t first = result.err.find("kedge: error: ");
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("kedge: error: ", first + 1), std::string::npos) << result.err;
    for (const std::string &part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << "expected '" << part << "' in: " << result.err;
  }
};

TEST_F(CudaRanks, TrainWhatOneRankTrains) {
  const std::string flags = "--steps 6 --eval-data x=x.npy --eval-data labels=y.npy --export-safetensors ";
  ASSERT_EQ(run("line:6 --threads 1 --log one.jsonl " + (kLineData + flags) + "one.safetensors").code, 0);
  for (const char *copies : {"late", "early"}) {
    const RunResult result =
        three("--log three.jsonl " + flags + "three.safetensors", std::string("KEDGE_STUB_COPIES=") + copies);
    ASSERT_EQ(result.code, 0) << result.err;
    const auto one = readLog("one.jsonl"), other = readLog("three.jsonl");
    ASSERT_EQ(one.size(), other.size());
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_NEAR(one[i]["loss"].get<double>(), other[i]["loss"].get<double>(), 1e-5) << "step " << i;
    EXPECT_NEAR(one.back()["eval_loss"].get<double>(), other.back()["eval_loss"].get<double>(), 1e-5);
    EXPECT_EQ(read("one.safetensors").size(), read("three.safetensors").size());
  }
}

/// Two groups of two GPUs along either axis, each with a communicator of its own.
TEST_F(CudaRanks, MeshesTrainWhatOneRankTrains) {
  for (const auto &[form, rows] :
       {std::pair{"replica=2,data=2/flat", 12}, std::pair{"data=2,tensor=2/columns", 6}}) {
    const std::string flags = std::string(kLineData) + "--threads 1 --steps 5 --log ";
    ASSERT_EQ(run("line:" + std::to_string(rows) + flags + "one.jsonl").code, 0);
    const RunResult result = runCommand(torchrun(
        4, "KEDGE_STUB_LOG=calls$r.txt " + tinyProgram() + " boxes/" + form + "/3" + flags + "four.jsonl",
        "KEDGE_STUB_GPUS=4"));
    ASSERT_EQ(result.code, 0) << result.err;
    const auto one = readLog("one.jsonl"), other = readLog("four.jsonl");
    ASSERT_EQ(one.size(), other.size());
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_NEAR(one[i]["loss"].get<double>(), other[i]["loss"].get<double>(), 1e-5)
          << form << " step " << i;
    EXPECT_NE(read("calls3.txt").find("ncclCommSplit"), std::string::npos);
    ASSERT_EQ(runCommand("rm one.jsonl four.jsonl calls*.txt").code, 0);
  }
}

/// Two stages of two ranks each send to each other, on a stream that is not that of the sums over ranks.
TEST_F(CudaRanks, StagesThatDoNotFitEachOtherEndInAnError) {
  const auto stages = [&](const std::string &fault) {
    return runCommand(torchrun(4,
                               "KEDGE_STUB_LOG=calls$r.txt " + tinyProgram() + " stages/" + fault +
                                   kLineData + "--threads 1 --steps 5 --comm-timeout 5",
                               "KEDGE_STUB_GPUS=4 KEDGE_STUB_NCCL_PATIENCE=1"));
  };
  ASSERT_EQ(stages("none").code, 0);
  const std::string calls = read("calls3.txt");
  EXPECT_NE(calls.find("ncclSend count 16 "), std::string::npos);
  const size_t first = calls.find("cuStreamCreateWithPriority -5");
  EXPECT_NE(calls.find("cuStreamCreateWithPriority -5", first + 1), std::string::npos);
  for (const auto &[fault, words] : {std::pair{"size", "a rank receives another message than was sent"},
                                     std::pair{"circle", "sends and receives wait for each other"}}) {
    const RunResult result = stages(fault);
    EXPECT_NE(result.code, 0);
    EXPECT_NE(result.code, 124) << fault << " did not end";
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    if (std::string(fault) == "size") // of a circle nobody is left to tell
      EXPECT_NE(result.err.find("at between stages in @step (transfer "), std::string::npos) << result.err;
  }
}

TEST_F(CudaRanks, ACheckpointGoesOnToTheBit) {
  const std::string flags = "--steps 8 --checkpoint-every 4 --keep 9 ";
  ASSERT_EQ(three(flags + "--checkpoint-dir whole --log whole.jsonl").code, 0);
  ASSERT_EQ(runCommand("mkdir cut && cp -r whole/step-4 cut/").code, 0);
  const RunResult result = three(flags + "--checkpoint-dir cut --resume --log cut.jsonl");
  ASSERT_EQ(result.code, 0) << result.err;
  auto rest = readLog("whole.jsonl");
  rest.erase(rest.begin(), rest.begin() + 4);
  EXPECT_EQ(withoutTimes(readLog("cut.jsonl")), withoutTimes(rest));
}

TEST_F(CudaRanks, CollectivesAreRecordedInGraphsOfTheirOwnStream) {
  const auto result = runCommand(torchrun(2,
                                          "KEDGE_STUB_LOG=calls$r.txt " + tinyProgram() +
                                              " ranks:2:3 --threads 1 --steps 9" + std::string(kLineData),
                                          "KEDGE_STUB_GPUS=2"));
  ASSERT_EQ(result.code, 0) << result.err;
  std::map<std::string, int> counts; // by call, up to its type
  std::istringstream lines(read("calls1.txt"));
  for (std::string line; std::getline(lines, line);)
    ++counts[line.substr(0, line.find(" type"))];
  EXPECT_EQ(counts["cuStreamCreateWithPriority -5"], 1);
  EXPECT_EQ(counts["ncclCommInitRankConfig rank 1 of 2"], 1);
  // Once as they are, once into the graph, of nine steps; six elements on two ranks are even. Gathers count
  // bytes.
  EXPECT_EQ(counts["ncclReduceScatter count 3"], 2);
  EXPECT_EQ(counts["ncclAllGather count 12"], 2);
  EXPECT_EQ(counts["ncclAllReduce count 2"], 2);
  EXPECT_GE(counts["cuGraphExecDestroy"], 1); // NCCL waits for that
  EXPECT_EQ(counts["ncclCommDestroy"], 1);
  EXPECT_EQ(counts["ncclCommAbort"], 0);
}

TEST_F(CudaRanks, ReportsTellOfNccl) {
  ASSERT_EQ(three("--steps 5 --memory-report m.json --profile p.json").code, 0);
  const auto report = nlohmann::json::parse(read("m.rank-1.json"));
  EXPECT_EQ(report["device"]["nccl"]["version"], 22809);
  nlohmann::json elements;
  for (const auto &row : report["communication"])
    elements[row["collective"].get<std::string>()] = row["elements"];
  EXPECT_EQ(elements, nlohmann::json({{"all_gather", 6}, {"all_reduce", 4}, {"reduce_scatter", 6}}));
  int measured = 0;
  for (const auto &row : report["reservations"])
    measured += row["name"] == "nccl";
  EXPECT_EQ(measured, 1);
}

TEST_F(CudaRanks, ARankThatGoesEndsAll) {
  // The last rank ends itself when it has run for a while; the others are in a collective on their GPUs, or
  // about to be.
  for (const auto &[signal, words] :
       {std::pair{"KILL", "rank 2 is gone"}, std::pair{"STOP", "rank 2 has not been heard of for 2 s"}}) {
    const std::string program = "sh -c \"if [ $r = 2 ]; then sleep 3; kill -" + std::string(signal) +
                                " \\$\\$; fi & exec " + tinyProgram() +
                                " ranks:3:2 --steps 100000000 --threads 1 --comm-timeout 2" + kLineData +
                                "\" > /dev/null";
    const RunResult result = runCommand(torchrun(3, program, "KEDGE_STUB_GPUS=3"));
    EXPECT_NE(result.code, 124) << "it did not end";
    expectOneError(result, {words, "there is no checkpoint yet"});
  }
}

TEST_F(CudaRanks, WhatNcclRefusesIsTold) {
  expectOneError(three("--steps 5", "KEDGE_STUB_NCCL_VERSION=21203"),
                 {"is NCCL 2.12.3", "need 2.18 or newer"});
  expectOneError(three("--steps 5", "KEDGE_STUB_FAIL=ncclCommInitRankConfig:1:5"),
                 {"NCCL 2.28.9: the ranks cannot be joined", "the last words of NCCL", "NCCL_DEBUG=WARN"});
  expectOneError(three("--steps 5", "KEDGE_STUB_FAIL=ncclGroupEnd:9:3"), {"a collective does not start"});
  expectOneError(three("--steps 5", "KEDGE_STUB_FAIL=ncclAllGather:4:3"),
                 {"dist.all_gather"}); // within a group
  expectOneError(three("--steps 5", "KEDGE_STUB_FAIL=ncclGroupEnd:12:3"),
                 {"a collective does not start"}); // while a graph is recorded, in which a stream is ahead
  // While a GPU is waited for, in the first step and in a graph.
  for (const char *call : {"8", "25"})
    expectOneError(three("--steps 9", std::string("KEDGE_STUB_NCCL_LOST=") + call), {"NCCL 2.28.9: "});
  EXPECT_EQ(three("--steps 5", "KEDGE_STUB_FAIL=ncclCommRegister:1:1").code, 0); // it does without
}

TEST_F(CudaRanks, RanksOnOneGpuAreRefused) {
  expectOneError(three("--steps 5", "KEDGE_STUB_GPUS=2"),
                 {"ranks 0 and 2 both have the GPU 0000:01:00.0", "one rank a GPU", "rank 0 sees 2",
                  "CUDA_VISIBLE_DEVICES"});
}

TEST_F(CudaRanks, RanksShareAGpuWhereNcclLetsThem) {
  const std::string one = "KEDGE_STUB_GPUS=1 ";
  const RunResult result =
      three("--steps 6 --shared-gpu --log shared.jsonl", one + "KEDGE_STUB_NCCL_VERSION=23007");
  ASSERT_EQ(result.code, 0) << result.err;
  ASSERT_EQ(three("--steps 6 --log own.jsonl").code, 0);
  EXPECT_EQ(withoutTimes(readLog("shared.jsonl")), withoutTimes(readLog("own.jsonl")));
  expectOneError(three("--steps 5 --shared-gpu", one),
                 {"the ranks cannot be joined", "no ranks that share a GPU"});
}

TEST_F(CudaRanks, AProgramForOthersIsRefusedOnce) {
  const RunResult result = runCommand(
      torchrun(2, tinyProgram() + " ranks:3:2 --steps 2" + std::string(kLineData), "KEDGE_STUB_GPUS=2"));
  expectOneError(result, {"--ranks must contain the world size"});
}

} // namespace
} // namespace kedge::test
