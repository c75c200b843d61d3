// What --keep, --resume, a second program and outputs may never destroy.
#include "test/unit/runtime/RuntimeTest.h"
#include <csignal>
#include <filesystem>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;

class RuntimeKeep : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    writeLineData(10);
  }
  std::string line(const std::string &arguments) const {
    return "line --threads 1" + std::string(kLineData) + "--checkpoint-dir ck --checkpoint-every 1 " +
           arguments;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto &entry : fs::directory_iterator(path("ck")))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  /// A folder that another run of the program made.
  void copyForeign(const std::string &to) {
    ASSERT_EQ(run("line --threads 1" + std::string(kLineData) + "--steps 7 --checkpoint-dir other").code, 0);
    fs::copy(path("other/step-7"), path(to), fs::copy_options::recursive);
    fs::remove_all(path("other"));
  }
  /// Starts a run and kills it after `milliseconds`.
  void killAfter(const std::string &arguments, int milliseconds) {
    std::string command =
        "cd '" + path("") + "' && exec " + tinyProgram() + " " + arguments + " >/dev/null 2>&1";
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(98);
    }
    usleep(static_cast<useconds_t>(1000 * milliseconds));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
};

using Names = std::vector<std::string>;

TEST_F(RuntimeKeep, DamagedFoldersAreNotCounted) {
  ASSERT_EQ(run(line("--steps 4 --keep 4")).code, 0);
  fs::resize_file(path("ck/step-3/model.safetensors"), 10);
  fs::remove(path("ck/step-4/manifest.json"));
  const RunResult result = run(line("--steps 3 --resume --keep 2"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("step-4 is set aside"), std::string::npos) << result.err;
  EXPECT_EQ(names(), (Names{"set-aside-step-3", "set-aside-step-4", "step-2", "step-3"}));
}

TEST_F(RuntimeKeep, ForeignFoldersAreNeitherCountedNorRemoved) {
  ASSERT_EQ(run(line("--steps 2 --keep 1")).code, 0);
  EXPECT_EQ(names(), (Names{"step-2"}));
  copyForeign("ck/step-1"); // whole, and of another run
  fs::create_directories(path("ck/step-99999999999999999999"));
  fs::create_directories(path("ck/step-007"));
  ASSERT_EQ(run(line("--steps 4 --keep 1 --resume")).code, 0);
  EXPECT_EQ(names(), (Names{"step-007", "step-1", "step-4", "step-99999999999999999999"}));
}

TEST_F(RuntimeKeep, AnAbandonedCourseIsNeverTaken) {
  ASSERT_EQ(run(line("--steps 9 --keep 9")).code, 0);
  const RunResult result = run(line("--steps 6 --resume ck/step-5 --keep 9"));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(
      result.err.find("note: ck/step-9 is set aside as 'ck/set-aside-step-9': the run goes on from step 5"),
      std::string::npos)
      << result.err;
  EXPECT_EQ(names(), (Names{"set-aside-step-6", "set-aside-step-7", "set-aside-step-8", "set-aside-step-9",
                            "step-1", "step-2", "step-3", "step-4", "step-5", "step-6"}));
  EXPECT_EQ(train("line" + std::string(kLineData) + "--steps 7 --resume ck")[0]["step"], 6);
  // Only to export: nothing is decided.
  ASSERT_EQ(run(line("--steps 4 --resume ck/step-4 --export-safetensors o.safetensors")).code, 0);
  EXPECT_TRUE(fs::exists(path("ck/step-6")));
}

TEST_F(RuntimeKeep, AWholeNewestOneSurvivesEveryKill) {
  std::mt19937 random(18);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  ASSERT_EQ(run(line("--steps 3 --keep 1")).code, 0);
  int64_t newest = 3;
  constexpr int kKills = 24; // scripts/check/kills.py does hundreds
  for (int kill = 0; kill < kKills; ++kill) {
    const fs::path stray = path("ck/step-" + std::to_string(newest + 1 + below(40)));
    if (below(3) == 0 && !fs::exists(stray))
      fs::create_directories(stray);
    else if (below(3) == 0 && !fs::exists(stray)) {
      fs::copy(path("ck/step-" + std::to_string(newest)), stray, fs::copy_options::recursive);
      fs::resize_file(stray / "model.safetensors", 20);
    }
    killAfter(line("--steps 1000000 --keep 1 --resume"), 5 + below(60));
    const RunResult whole = run("line --steps 0 --resume ck --export-safetensors o.safetensors");
    ASSERT_EQ(whole.code, 0) << "after kill " << kill << "\n" << whole.err;
    int64_t found = -1;
    for (const std::string &name : names())
      if (name.rfind("step-", 0) == 0 && fs::exists(path("ck/" + name + "/manifest.json")))
        found = std::max(found, static_cast<int64_t>(
                                    nlohmann::json::parse(read("ck/" + name + "/manifest.json"))["step"]));
    ASSERT_GE(found, newest);
    newest = found;
  }
}

TEST_F(RuntimeKeep, OneProgramAFolderAndALog) {
  const std::string shell = "exec 9<>ck/.lock; flock -n 9 && echo process 4711 on elsewhere >&9; ";
  fs::create_directories(path("ck"));
  RunResult result = run(line("--steps 2"), shell);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(
      result.err.find(
          "--checkpoint-dir 'ck' is in use by another program (process 4711 on elsewhere): wait for it to "
          "end, or name another place"),
      std::string::npos)
      << result.err;
  // Nobody holds it any more: it is taken over, and gone afterwards.
  EXPECT_TRUE(fs::exists(path("ck/.lock")));
  EXPECT_EQ(run(line("--steps 2 --log log.jsonl")).code, 0);
  EXPECT_FALSE(fs::exists(path("ck/.lock")));
  EXPECT_FALSE(fs::exists(path("log.jsonl.lock")));
  fs::create_symlink("log.jsonl", path("link.jsonl"));
  result =
      run("line --steps 2 --log link.jsonl" + std::string(kLineData), "exec 9<>log.jsonl.lock; flock -n 9; ");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("--log 'link.jsonl' is in use by another program"), std::string::npos)
      << result.err;
  EXPECT_EQ(readLog("log.jsonl").size(), 2u);
}

TEST_F(RuntimeKeep, InputsAreNotOverwritten) {
  fs::create_symlink("x.npy", path("link.npy"));
  fs::create_hard_link(path("model.bin"), path("hard.bin"));
  const std::string before = read("x.npy"), model = read("model.bin"),
                    flags = "line --steps 1" + std::string(kLineData);
  for (const char *output : {"--log", "--export-safetensors", "--profile", "--memory-report",
                             "--dump-gradients", "--export-onnx-adapters"})
    expectError(flags + output + " link.npy",
                std::string(output) + " link.npy: would overwrite --data x ('x.npy'), which this run reads");
  expectError(flags + "--log hard.bin", "--log hard.bin: would overwrite the model ('model.bin')");
  expectError(flags + "--eval-data x=x.npy --predict y=y.npy",
              "--predict y y.npy: would overwrite --data labels");
  fs::create_directory(path("adapter"));
  fs::create_hard_link(path("x.npy"), path("adapter/adapter_model.safetensors"));
  expectError(flags + "--export-adapter adapter",
              "--export-adapter adapter/adapter_model.safetensors: would overwrite --data x");
  expectError(flags + "--log a --profile ./a", "--profile ./a: --log writes that file, too");
  ASSERT_EQ(run(line("--steps 1")).code, 0);
  expectError(flags + "--export-safetensors ck/step-1/model.safetensors",
              "would overwrite a file of a checkpoint");
  EXPECT_EQ(read("x.npy"), before);
  EXPECT_EQ(read("model.bin"), model);
}

} // namespace
} // namespace kedge::test
