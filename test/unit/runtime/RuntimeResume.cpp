// Checkpoints, signals, kill -9: the log and the weights of an interrupted run equal an uninterrupted one's.
#include "runtime/format/TensorFile.h"
#include "runtime/train/Manifest.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;

class RuntimeResume : public RuntimeTest {
protected:
  /// Starts the tiny program and sends `signal` once the log holds `lines` lines. Returns what waitpid says.
  /// With `reader`, someone reads its standard error until then, as `| tee` does, and dies of the same
  /// Ctrl-C.
  int interrupt(std::vector<std::string> arguments, size_t lines, int signal, bool reader = false) {
    arguments.insert(arguments.begin(), tinyProgram());
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(path("").c_str()) != 0)
        _exit(99);
      ::signal(SIGHUP, SIG_DFL); // the tests themselves may run under nohup
      dup2(reader ? ends[1] : open("/dev/null", O_WRONLY), STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(98);
    }
    close(ends[1]);
    int status = 0;
    bool ended = false;
    for (int waited = 0; waited < 20000 && !ended; ++waited) {
      if ((ended = waitpid(child, &status, WNOHANG) == child))
        break;
      const std::string log = read("log.jsonl");
      if (static_cast<size_t>(std::count(log.begin(), log.end(), '\n')) >= lines)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    close(ends[0]);
    if (!ended) {
      kill(child, signal);
      waitpid(child, &status, 0);
    }
    return status;
  }

  std::vector<std::string> longRun(const std::string &steps) {
    return {
        "line",      "--steps",   steps,   "--data",    "x=x.npy",          "--data", "labels=y.npy",
        "--threads", "2",         "--log", "log.jsonl", "--checkpoint-dir", "ck",     "--checkpoint-every",
        "40",        "--shuffle", "5"};
  }
};

constexpr const char *kLong = " --threads 2 --checkpoint-dir ck --checkpoint-every 7";

TEST_F(RuntimeResume, KillAndResumeEqualsAnUninterruptedRun) {
  writeLineData(10);
  const std::string flags = std::string("line --steps 400 --shuffle 5") + kLineData;
  ASSERT_EQ(run(flags + "--threads 2 --log whole.jsonl --export-safetensors whole.safetensors").code, 0);
  for (size_t lines : {50, 140, 250}) {
    std::vector<std::string> arguments = longRun("400");
    if (fs::exists(path("ck/")) && !fs::is_empty(path("ck")))
      arguments.push_back("--resume");
    interrupt(arguments, lines, SIGKILL);
  }
  const RunResult last =
      run(flags + kLong + " --resume --log log.jsonl --export-safetensors parts.safetensors");
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(withoutTimes(readLog("log.jsonl")), withoutTimes(readLog("whole.jsonl")));
  EXPECT_EQ(read("parts.safetensors"), read("whole.safetensors"));
}

TEST_F(RuntimeResume, SignalsFinishTheStepAndCheckpoint) {
  writeLineData(10);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    fs::remove_all(path("ck"));
    fs::remove(path("log.jsonl"));
    std::vector<std::string> arguments = longRun("100000000");
    const int status = interrupt(arguments, 20, signal);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    const size_t steps = readLog("log.jsonl").size();
    EXPECT_TRUE(fs::exists(path("ck/step-" + std::to_string(steps) + "/manifest.json")));
    EXPECT_EQ(nlohmann::json::parse(read("ck/step-" + std::to_string(steps) + "/manifest.json"))["step"],
              steps);
  }
}

/// The run that goes on evaluates the step whose evaluation a signal ended: it logs, keeps and ends as one
/// that was never stopped.
TEST_F(RuntimeResume, AnEvaluationCutShortIsMadeUpFor) {
  writeLineData(10);
  constexpr int64_t kRows = 1 << 18; // a step is next to nothing
  writeNpy<float>("ex.npy", "<f4", {kRows, 3}, std::vector<float>(kRows * 3, 0.5f));
  writeNpy<float>("ey.npy", "<f4", {kRows, 2}, std::vector<float>(kRows * 2, 0.5f));
  const auto words = [](const std::string &folder) -> std::vector<std::string> {
    return {"line",
            "--data",
            "x=x.npy",
            "--data",
            "labels=y.npy",
            "--eval-data",
            "x=ex.npy",
            "--eval-data",
            "labels=ey.npy",
            "--eval-every",
            "1",
            "--lr",
            "0",
            "--steps",
            "20",
            "--threads",
            "1",
            "--keep-best",
            "loss",
            "--stop-after",
            "6",
            "--checkpoint-dir",
            folder};
  };
  const auto line = [&](const std::string &folder) {
    std::string text;
    for (const std::string &word : words(folder))
      text += word + " ";
    return text;
  };
  ASSERT_EQ(run(line("whole") + "--log whole.jsonl").code, 0);
  ASSERT_EQ(readLog("whole.jsonl").size(), 7u); // the first is the best, and six are not better
  bool cutShort = false;
  for (int trial = 0; trial < 5 && !cutShort; ++trial) {
    fs::remove_all(path("ck"));
    fs::remove(path("log.jsonl"));
    std::vector<std::string> arguments = words("ck");
    arguments.insert(arguments.end(), {"--log", "log.jsonl"});
    const int status = interrupt(arguments, 3, SIGTERM);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 143);
    const std::string newest = "ck/step-" + std::to_string(readLog("log.jsonl").size());
    cutShort = nlohmann::json::parse(read(newest + "/manifest.json")).contains("unevaluated");
  }
  ASSERT_TRUE(cutShort);
  EXPECT_FALSE(readLog("log.jsonl").back().contains("eval_loss"));
  const RunResult last = run(line("ck") + "--log log.jsonl --resume");
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(withoutTimes(readLog("log.jsonl")), withoutTimes(readLog("whole.jsonl")));
  const auto best = [&](const std::string &folder) {
    return nlohmann::json::parse(read(folder + "/manifest.json"))["best"];
  };
  EXPECT_EQ(best("ck/best"), best("whole/best"));
  EXPECT_EQ(best("ck/step-7"), best("whole/step-7"));
}

TEST_F(RuntimeResume, CtrlCExportsWhatWasAskedFor) {
  writeLineData(10);
  for (int signal : {SIGINT, SIGTERM}) {
    for (const char *file : {"log.jsonl", "stopped.safetensors"})
      fs::remove(path(file));
    fs::remove_all(path("ck"));
    std::vector<std::string> arguments = longRun("100000000");
    arguments.insert(arguments.end(), {"--export-safetensors", "stopped.safetensors"});
    const int status = interrupt(arguments, 20, signal);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
    ASSERT_EQ(fs::exists(path("stopped.safetensors")), signal == SIGINT);
    if (signal == SIGINT) {
      const std::string steps = std::to_string(readLog("log.jsonl").size());
      EXPECT_EQ(read("stopped.safetensors"), read("ck/step-" + steps + "/model.safetensors"));
    }
  }
}

/// `program 2>&1 | tee log`: Ctrl-C ends tee, too, and what is said about it reaches nobody.
TEST_F(RuntimeResume, CtrlCExportsWhenItsReaderIsGone) {
  writeLineData(10);
  const std::vector<std::string> line = longRun("100000000");
  for (int trial = 0; trial < 5; ++trial) {
    for (const char *file : {"log.jsonl", "stopped.safetensors"})
      fs::remove(path(file));
    std::vector<std::string> arguments(line.begin(), std::find(line.begin(), line.end(), "--checkpoint-dir"));
    arguments.insert(arguments.end(), {"--export-safetensors", "stopped.safetensors"});
    const int status = interrupt(arguments, 20, SIGINT, /*reader=*/true);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_TRUE(fs::exists(path("stopped.safetensors")));
  }
}

TEST_F(RuntimeResume, KeepsTheNewestAndSavesScalars) {
  writeLineData(10);
  ASSERT_EQ(
      run(std::string("line --steps 20 --lr 0.05 --schedule cosine --warmup 3 --keep 3") + kLong + kLineData)
          .code,
      0);
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(path("ck")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-14", "step-20", "step-7"}));
  // 30 steps given now; schedule, rate and warm-up come from the checkpoint, the decay follows --steps.
  const auto whole =
      train(std::string("line --steps 30 --lr 0.05 --schedule cosine --warmup 3") + kLineData, "whole.jsonl");
  const auto log = train(std::string("line --steps 30 --resume ck") + kLineData);
  ASSERT_EQ(log.size(), 10u);
  EXPECT_EQ(log[0]["lr"], whole[20]["lr"]);
  EXPECT_EQ(log[0]["step"], 20);
}

TEST_F(RuntimeResume, TakesTheNewestWholeOne) {
  writeLineData(10);
  ASSERT_EQ(run(std::string("line --steps 14") + kLong + kLineData).code, 0);
  fs::resize_file(path("ck/step-14/model.safetensors"), 100);
  fs::create_directories(path("ck/.tmp-step-15"));
  const RunResult result = run(std::string("line --steps 14 --resume --log log.jsonl") + kLong + kLineData);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("step-14 is passed over"), std::string::npos) << result.err;
  EXPECT_EQ(readLog("log.jsonl").front()["step"], 7);
  EXPECT_FALSE(fs::exists(path("ck/.tmp-step-15")));
  write("ck/step-7/optimizer.safetensors", "no");
  write("ck/step-14/optimizer.safetensors", "no");
  expectError(std::string("line --steps 14 --resume") + kLong + kLineData, "holds no whole checkpoint");
}

TEST_F(RuntimeResume, ResumeRules) {
  writeLineData(10);
  expectError(std::string("line --steps 3 --resume") + kLong + kLineData, "holds no whole checkpoint");
  ASSERT_EQ(run(std::string("line --steps 3") + kLong + kLineData).code, 0);
  expectError(std::string("line --steps 4") + kLong + kLineData, "holds checkpoints already");
  expectError(std::string("bigram --steps 4 --resume") + kLong, "no data for the input 'ids'");
  // Finished already: nothing to train, exports are written.
  EXPECT_EQ(run("line --resume ck --export-safetensors out.safetensors").code, 0);
  EXPECT_TRUE(fs::exists(path("out.safetensors")));
}

TEST_F(RuntimeResume, AnotherBatchGoesOnWithTheNextSamples) {
  writeLineData(32);
  ASSERT_EQ(run(std::string("line:4 --steps 4 --lr 0 --checkpoint-dir ck") + kLineData).code, 0);
  const auto next = train(std::string("line:2:4 --steps 6 --lr 0 --resume ck") + kLineData);
  const auto all = train(std::string("line:4 --steps 8 --lr 0") + kLineData, "all.jsonl");
  EXPECT_NEAR(next[0]["loss"].get<double>(),
              (all[4]["loss"].get<double>() + all[5]["loss"].get<double>()) / 2, 1e-6);
}

TEST_F(RuntimeResume, CheckpointsOfOtherModelsAreRefused) {
  writeLineData(8);
  ASSERT_EQ(run(std::string("line --steps 2 --checkpoint-dir ck") + kLineData).code, 0);
  write("t.bin", std::string(64, '\0'));
  expectError("bigram --steps 4 --tokens t.bin --resume ck", "it has no 'table'");
  auto manifest = nlohmann::ordered_json::parse(read("ck/step-2/manifest.json"));
  manifest["optimizer"] = "adamw";
  manifest.erase("checksum");
  write("ck/step-2/manifest.json", kedge::rt::sealedManifest(manifest));
  expectError(std::string("line --steps 4 --resume ck") + kLineData, "compile with --optimizer adamw");
}

TEST_F(RuntimeResume, ResumedLogLosesTornAndLaterLines) {
  writeLineData(10);
  ASSERT_EQ(run(std::string("line --steps 10 --log log.jsonl") + kLong + kLineData).code, 0);
  const auto whole = withoutTimes(readLog("log.jsonl"));
  fs::remove_all(path("ck/step-10"));
  write("log.jsonl", read("log.jsonl") + "{\"step\": 10, \"lo");
  ASSERT_EQ(run(std::string("line --resume --log log.jsonl") + kLong + kLineData).code, 0);
  EXPECT_EQ(withoutTimes(readLog("log.jsonl")), whole);
}

TEST_F(RuntimeResume, AFullDiskLeavesNothingHalfWritten) {
  writeLineData(10);
  const std::string command = std::string("line --steps 1 --threads 1 --checkpoint-dir ck") + kLineData;
  // A file size limit of 512 bytes stands in for a full disk.
  const RunResult result = run(command, "ulimit -f 1;");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("no checkpoint of step 1"), std::string::npos) << result.err;
  EXPECT_TRUE(!fs::exists(path("ck")) || fs::is_empty(path("ck")));
}

TEST_F(RuntimeResume, SafetensorsHaveTheExportedLayout) {
  writeLineData(10);
  ASSERT_EQ(run("line --steps 0 --export-safetensors out.safetensors").code, 0);
  const auto file = rt::TensorFile::open(path("out.safetensors"));
  const rt::TensorView *w = file.find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->desc.shape, (std::vector<int64_t>{3, 2}));
  float values[6];
  std::memcpy(values, w->data, sizeof(values));
  for (int i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(values[i], 0.1f * static_cast<float>(i + 1));
  // And they come back by --weights.
  ASSERT_EQ(run("line --steps 0 --weights out.safetensors --export-safetensors again.safetensors").code, 0);
  EXPECT_EQ(read("out.safetensors"), read("again.safetensors"));
}

} // namespace
} // namespace kedge::test
