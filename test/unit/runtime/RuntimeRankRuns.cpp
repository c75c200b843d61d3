// Runs of a program on several ranks under real mpirun: what it trains, evaluates, writes and says is what
// one rank with the whole batch does.
#include "runtime/format/TensorFile.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;

class RuntimeRankRuns : public RuntimeTest {
protected:
  static std::string rank(int ranks, const std::string &arguments) {
    return "-np " + std::to_string(ranks) + " " + tinyProgram() + " " + arguments;
  }
  RunResult mpirun(const std::string &processes, const std::string &environment = "") {
    return runCommand(environment + " timeout 600 mpirun --allow-run-as-root --oversubscribe " + processes);
  }
  /// Three ranks of two rows each.
  RunResult three(const std::string &arguments, const std::string &environment = "") {
    return mpirun(rank(3, "ranks:3:2 " + arguments + " --threads 1"), environment);
  }
  void expectWell(const RunResult &result) { ASSERT_EQ(result.code, 0) << result.err; }
  /// One message in all, and the exit code 1.
  void expectOneError(const RunResult &result, const std::string &part) {
    EXPECT_EQ(result.code, 1) << result.err;
    const size_t first = result.err.find("kedge: error: ");
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("kedge: error: ", first + 1), std::string::npos) << result.err;
  }

  std::vector<float> tensor(const std::string &file, const std::string &name) const {
    const rt::TensorFile opened = rt::TensorFile::openSafetensors(path(file));
    const rt::TensorView *view = opened.find(name);
    if (!view)
      throw std::runtime_error(file + " has no " + name);
    std::vector<float> values(static_cast<size_t>(view->desc.elements()));
    std::memcpy(values.data(), view->data, view->desc.bytes());
    return values;
  }
  void expectNear(const std::string &a, const std::string &b) {
    for (const char *name : {"w", "b"}) {
      const std::vector<float> one = tensor(a, name), other = tensor(b, name);
      ASSERT_EQ(one.size(), other.size());
      for (size_t i = 0; i < one.size(); ++i)
        EXPECT_NEAR(one[i], other[i], 1e-6) << name << " " << i;
    }
  }
  void expectNear(const std::vector<nlohmann::json> &a, const std::vector<nlohmann::json> &b,
                  const char *key = "loss") {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i][key].get<double>(), b[i][key].get<double>(), 1e-5) << "line " << i;
  }
};

constexpr const char *kSix = "line:6 --threads 1 ";

TEST_F(RuntimeRankRuns, TrainWhatOneRankTrains) {
  writeLineData(23);
  const std::string flags = std::string(kLineData) +
                            "--steps 6 --shuffle 3 --eval-data x=x.npy --eval-data labels=y.npy "
                            "--eval-every 2 --predict y=";
  expectWell(run(kSix + flags +
                 "one.npy --log one.jsonl --export-safetensors one.safetensors --export-onnx one.onnx"));
  expectWell(three(
      flags + "three.npy --log three.jsonl --export-safetensors three.safetensors --export-onnx three.onnx"));
  expectNear(readLog("one.jsonl"), readLog("three.jsonl"));
  EXPECT_NEAR(readLog("one.jsonl")[5]["eval_loss"], readLog("three.jsonl")[5]["eval_loss"], 1e-6);
  expectNear("one.safetensors", "three.safetensors");
  EXPECT_EQ(read("one.npy").size(), read("three.npy").size());
  EXPECT_EQ(read("one.onnx").size(), read("three.onnx").size());
}

TEST_F(RuntimeRankRuns, ACheckpointGoesOnToTheBitAndOnAnyNumberOfRanks) {
  writeLineData(20);
  const std::string flags = kLineData + std::string("--steps 8 --checkpoint-every 4 --keep 9 ");
  expectWell(
      three(flags + "--checkpoint-dir whole --log whole.jsonl --export-safetensors whole.safetensors"));
  EXPECT_TRUE(fs::exists(path("whole/step-4/model.rank-2.safetensors")));
  fs::create_directories(path("cut"));
  fs::copy(path("whole/step-4"), path("cut/step-4"), fs::copy_options::recursive);
  fs::copy(path("cut"), path("alone"), fs::copy_options::recursive);
  fs::copy(path("cut"), path("two"), fs::copy_options::recursive);

  expectWell(
      three(flags + "--checkpoint-dir cut --resume --log cut.jsonl --export-safetensors cut.safetensors"));
  std::vector<nlohmann::json> rest = readLog("whole.jsonl");
  rest.erase(rest.begin(), rest.begin() + 4);
  EXPECT_EQ(withoutTimes(readLog("cut.jsonl")), withoutTimes(rest));
  EXPECT_EQ(tensor("cut.safetensors", "w"), tensor("whole.safetensors", "w"));
  EXPECT_EQ(tensor("cut/step-8/optimizer.rank-1.safetensors", "momentum/w"),
            tensor("whole/step-8/optimizer.rank-1.safetensors", "momentum/w"));

  expectWell(run(kSix + flags +
                 "--checkpoint-dir alone --resume --log alone.jsonl --export-safetensors a.safetensors"));
  expectNear(readLog("alone.jsonl"), rest);
  expectNear("a.safetensors", "whole.safetensors");
  // The other way round: what one rank wrote whole, in parts on three; and parts of three on two.
  expectWell(
      three(kLineData +
            std::string("--steps 12 --checkpoint-dir alone --resume --export-safetensors b.safetensors")));
  expectWell(
      mpirun(rank(2, "ranks:2:3 --threads 1 " + flags + "--checkpoint-dir two --resume --log two.jsonl")));
  expectNear(readLog("two.jsonl"), rest);
}

TEST_F(RuntimeRankRuns, ACheckpointIsConsolidatedWithoutTraining) {
  writeLineData(20);
  expectWell(three(kLineData +
                   std::string("--steps 3 --checkpoint-dir ck --export-safetensors trained.safetensors")));
  expectWell(three("--steps 3 --checkpoint-dir ck --resume --export-safetensors later.safetensors"));
  EXPECT_EQ(read("trained.safetensors"), read("later.safetensors"));
}

TEST_F(RuntimeRankRuns, DumpedGradientsAreWhole) {
  writeLineData(20);
  const std::string flags = kLineData + std::string("--steps 2 --dump-step 1 --dump-gradients ");
  expectWell(run(kSix + flags + "one.safetensors"));
  expectWell(three(flags + "three.safetensors"));
  expectNear("one.safetensors", "three.safetensors");
}

TEST_F(RuntimeRankRuns, ANonFiniteLossOfOneRankEndsAllWithOneMessage) {
  writeLineData(12);
  std::string x = read("x.npy");
  const float bad = std::numeric_limits<float>::infinity();
  std::memcpy(x.data() + x.size() - 12 * 12 + 9 * 12, &bad, 4); // row 9: step 1, rank 1
  write("x.npy", x);
  const RunResult result = three(kLineData + std::string("--steps 4 --log log.jsonl --checkpoint-dir ck"));
  expectOneError(result, "the loss of step 1 is not finite");
  EXPECT_NE(result.err.find("on rank 1, inf, element 3 of input 'x', which is row 9, element 0 of x.npy; "),
            std::string::npos)
      << result.err;
  EXPECT_EQ(readLog("log.jsonl").size(), 1u);
  EXPECT_TRUE(fs::is_empty(path("ck")));
}

TEST_F(RuntimeRankRuns, WhatDiffersBetweenRanksIsToldBeforeTheFirstStep) {
  writeLineData(12);
  const std::string flags = kLineData + std::string("--threads 1 --steps 2 ");
  expectOneError(mpirun(rank(2, "ranks:3:2 " + flags) + " : " + rank(1, "ranks:3:2 " + flags + "--lr 1")),
                 "rank 2 was started with other options than rank 0");
  expectOneError(mpirun(rank(2, "ranks:3:2 " + flags) + " : " + rank(1, "ranks:3:3 " + flags)),
                 "rank 2 was started with another program than rank 0");
  expectOneError(mpirun(rank(2, "ranks:3:2 " + flags) + " : " + rank(1, "ranks:3:2 --stepz 1")), "--stepz");
  fs::create_directories(path("else"));
  fs::copy(path("y.npy"), path("else/y.npy"));
  fs::copy(path("model.bin"), path("else/model.bin"));
  const std::string good = read("x.npy"), labels = read("y.npy");
  writeLineData(11);
  fs::copy(path("x.npy"), path("else/x.npy"));
  fs::copy(path("y.npy"), path("else/y.npy"), fs::copy_options::overwrite_existing);
  write("x.npy", good);
  write("y.npy", labels);
  expectOneError(mpirun(rank(2, "ranks:3:2 " + flags) + " : -wdir else " + rank(1, "ranks:3:2 " + flags)),
                 "--data: rank 2 found 11 rows where rank 0 found 12");
}

/// Of the same name, size and shape: only what is in them differs.
TEST_F(RuntimeRankRuns, FilesOfOneNameAreTheSameOnAllRanks) {
  writeLineData(12);
  const std::string flags = kLineData + std::string("--threads 1 --steps 2 ");
  fs::create_directories(path("else"));
  for (const char *file : {"x.npy", "y.npy", "model.bin"})
    fs::copy(path(file), path("else/") + file);
  const std::string processes =
      rank(2, "ranks:3:2 " + flags) + " : -wdir else " + rank(1, "ranks:3:2 " + flags);
  expectWell(mpirun(processes));
  // Of the model, the last bytes are of its graph.
  for (const auto &[file, part] : std::map<std::string, std::string>{
           {"x.npy", "'x.npy': rank 2 reads another file of this name than rank 0"},
           {"model.bin", "rank 2: model.bin: another model than"}}) {
    const std::string good = read("else/" + file);
    std::string other = good;
    other[other.size() - 1] ^= 1;
    write("else/" + file, other);
    expectOneError(mpirun(processes), part);
    write("else/" + file, good);
  }
}

/// Initial values, and checkpoints that are each whole.
TEST_F(RuntimeRankRuns, WeightsAndCheckpointsOfOneNameAreTheSameOnAllRanks) {
  writeLineData(12);
  fs::create_directories(path("else"));
  const std::string train = "ranks:3:2 --threads 1 " + std::string(kLineData);
  const auto trained = [&](const std::string &folder, const std::string &more) {
    expectWell(
        mpirun("-wdir " + folder + " " +
               rank(3, train + "--steps 2 --checkpoint-dir ck --export-safetensors w.safetensors " + more)));
  };
  for (const char *file : {"x.npy", "y.npy", "model.bin"})
    fs::copy(path(file), path("else/") + file);
  trained(".", "");
  trained("else", "--lr 0.02");
  const std::string same = "'w.safetensors': rank 2 reads another file of this name than rank 0";
  for (const auto &[more, part] :
       std::map<std::string, std::string>{{"--steps 2 --weights w.safetensors", same},
                                          {"--steps 4 --checkpoint-dir ck --resume",
                                           "rank 2 reads another file of this name than rank 0"}}) {
    const std::string processes = rank(2, train + more) + " : -wdir else " + rank(1, train + more);
    expectOneError(mpirun(processes), part);
    EXPECT_FALSE(fs::exists(path("ck/step-4"))) << more;
  }
  fs::copy(path("w.safetensors"), path("else/w.safetensors"), fs::copy_options::overwrite_existing);
  const std::string words = train + "--steps 2 --weights w.safetensors";
  expectWell(mpirun(rank(2, words) + " : -wdir else " + rank(1, words)));
}

TEST_F(RuntimeRankRuns, BadStartsAreToldOnce) {
  writeLineData(12);
  const std::string flags = kLineData + std::string("--steps 2 ");
  expectOneError(mpirun(rank(2, "ranks:3:2 " + flags)), "--ranks must contain the world size");
  expectOneError(mpirun(rank(2, "line " + flags)), "--ranks must contain the world size");
  expectOneError(run("ranks:3:2 " + flags), "1 rank started this program, which was compiled for 3");
  expectOneError(three("--steps 2 --data x=nothing.npy"), "nothing.npy");
  expectOneError(three(flags + "--nonsense"), "--nonsense");
  expectOneError(run("line " + flags, "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0"), "torchrun");
  expectOneError(run("ranks:3:2 " + flags, "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0"),
                 "the launcher says rank 0 of 3, MPI says rank 0 of 1");
  fs::create_directories(path("broken"));
  write("broken/libmpi.so.40", "no library");
  expectOneError(
      run("ranks:3:2 " + flags, "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 LD_LIBRARY_PATH=broken"),
      "apt install libopenmpi3");
  expectOneError(run("line " + flags, "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1"),
                 "rank 1: RANK and WORLD_SIZE are set");
}

/// Rank 2's folder for checkpoints is read-only for what it wants to write: one message, no checkpoint,
/// nothing left.
TEST_F(RuntimeRankRuns, ACheckpointThatOneRankCannotWriteIsNone) {
  writeLineData(12);
  const std::string flags = kLineData + std::string("--threads 1 --steps 4 --checkpoint-dir ck");
  const std::string limited = "-np 1 sh -c 'ulimit -f 0; exec " + tinyProgram() + " ranks:3:2 " + flags + "'";
  const RunResult result = mpirun(rank(2, "ranks:3:2 " + flags) + " : " + limited);
  expectOneError(result, "rank 2: no checkpoint of step 4");
  EXPECT_TRUE(fs::is_empty(path("ck")));
}

/// Rank 0's reader goes: no abort, and what was trained is kept.
TEST_F(RuntimeRankRuns, AReaderThatGoesEndsAllWithACheckpoint) {
  writeLineData(12);
  const std::string first = "bash -c 'exec \"$@\" 2> >(head -n 2 > head.txt)' first ";
  const std::string train = tinyProgram() + " ranks:3:2 --threads 1 --steps 100000 --checkpoint-dir ck " +
                            "--checkpoint-every 100000 --comm-timeout 20" + kLineData;
  const RunResult result = mpirun("-np 1 " + first + train + " : -np 2 " + train);
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_FALSE(fs::is_empty(path("ck"))) << result.err;
}

TEST_F(RuntimeRankRuns, ReportsTellWhatWasSent) {
  writeLineData(12);
  expectWell(three(kLineData + std::string("--steps 5 --memory-report m.json --profile p.json")));
  for (const char *name : {"m.json", "m.rank-1.json", "m.rank-2.json"}) {
    const auto report = nlohmann::json::parse(read(name));
    nlohmann::json elements;
    for (const auto &row : report["communication"])
      elements[row["collective"].get<std::string>()] = row["elements"];
    EXPECT_EQ(elements, nlohmann::json({{"all_gather", 6}, {"all_reduce", 4}, {"reduce_scatter", 6}}))
        << name;
    EXPECT_EQ(report["reservations"].back()["name"], "mpi");
  }
  const auto trace = nlohmann::json::parse(read("p.json"));
  int beside = 0;
  for (const auto &event : trace["traceEvents"])
    beside += event["pid"] == 1 && event["tid"] == 3 && event["name"].get<std::string>().starts_with("dist.");
  EXPECT_EQ(beside, 10);
}

TEST_F(RuntimeRankRuns, AllocateNothingFromTheThirdStepOn) {
  writeLineData(12);
  const RunResult result = three(kLineData + std::string("--steps 60"), "TINY_COUNT_ALLOCATIONS=1");
  expectWell(result);
  std::istringstream lines(result.out);
  int ranks = 0;
  for (std::string line; std::getline(lines, line); ++ranks) {
    std::istringstream numbers(line.substr(line.find(':') + 1));
    std::vector<long> counts{std::istream_iterator<long>(numbers), {}};
    ASSERT_GT(counts.size(), 40u) << line;
    for (size_t i = 2; i < counts.size(); ++i)
      EXPECT_EQ(counts[i], 0) << "step " << i << ": " << line;
  }
  EXPECT_EQ(ranks, 3);
}

} // namespace
} // namespace kedge::test
