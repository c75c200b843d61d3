// Jobs of several ranks that lose a rank, are told to stop, or are killed as a whole, in the middle of
// training.
#include "test/unit/runtime/RuntimeTest.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A job under mpirun, in the background.
class Job {
public:
  Job(const std::string &folder, const std::string &arguments) {
    child = fork();
    if (child != 0)
      return;
    setsid();
    if (chdir(folder.c_str()) != 0)
      _exit(99);
    dup2(open("out.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    dup2(open("err.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    const std::string command = "exec mpirun --allow-run-as-root --oversubscribe -np 3 " + tinyProgram() +
                                " ranks:3:2 --threads 1 " + arguments;
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(98);
  }

  ~Job() {
    if (!ended)
      killAll();
  }

  /// The process of a rank: a child of mpirun whose environment says so.
  pid_t rank(int number) const {
    const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(number);
    for (const auto &entry : fs::directory_iterator("/proc")) {
      std::ifstream stat(entry.path() / "stat"), environment(entry.path() / "environ");
      std::string line, variables((std::istreambuf_iterator<char>(environment)), {});
      std::getline(stat, line);
      std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
      char state = 0;
      pid_t parent = 0;
      fields >> state >> parent;
      if (parent == child && variables.find(wanted + '\0') != std::string::npos)
        return std::stoi(entry.path().filename());
    }
    return 0;
  }

  void killAll() {
    for (int number = 0; number < 3; ++number)
      if (const pid_t process = rank(number))
        kill(process, SIGKILL);
    kill(child, SIGKILL);
    await(120);
  }

  /// 128 + signal when mpirun was killed; -1: not within `seconds`.
  int await(double seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int status = 0; Clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (waitpid(child, &status, WNOHANG) == child) {
        ended = true;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      }
    return -1;
  }

private:
  pid_t child = 0;
  bool ended = false;
};

class RuntimeRankLoss : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    writeLineData(23);
  }

  static std::string flags(const std::string &steps) {
    return std::string(kLineData) + " --shuffle 5 --steps " + steps +
           " --log log.jsonl --checkpoint-dir ck --checkpoint-every 20 --comm-timeout 2 ";
  }

  bool reaches(size_t lines) {
    const auto end = Clock::now() + std::chrono::seconds(120);
    for (; Clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
      const std::string log = read("log.jsonl");
      if (static_cast<size_t>(std::count(log.begin(), log.end(), '\n')) >= lines)
        return true;
    }
    return false;
  }

  /// The newest checkpoint is whole: the run goes on from it for a few steps, and each step is in the log
  /// once.
  void expectGoesOn() {
    int64_t newest = 0;
    for (const auto &entry : fs::directory_iterator(path("ck")))
      if (const std::string name = entry.path().filename(); name.starts_with("step-"))
        newest = std::max<int64_t>(newest, std::stoll(name.substr(5)));
    ASSERT_GT(newest, 0);
    Job again(path(""), flags(std::to_string(newest + 7)) + "--resume");
    ASSERT_EQ(again.await(300), 0) << read("err.txt");
    const auto log = readLog("log.jsonl");
    ASSERT_EQ(log.size(), static_cast<size_t>(newest + 7));
    for (size_t i = 0; i < log.size(); ++i)
      EXPECT_EQ(log[i]["step"], i);
  }

  void lose(int number, int signal, const std::string &words) {
    Job job(path(""), flags("100000000"));
    ASSERT_TRUE(reaches(45)) << read("err.txt");
    ASSERT_NE(job.rank(number), 0);
    kill(job.rank(number), signal);
    const int code = job.await(120);
    EXPECT_GT(code, 0);
    const std::string said = read("err.txt");
    const size_t first = said.find("kedge: error: ");
    ASSERT_NE(first, std::string::npos) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_EQ(said.find("kedge: error: ", first + 1), std::string::npos) << said;
    EXPECT_TRUE(said.find(" in dist.") != std::string::npos ||
                said.find(" in an agreement of all ranks") != std::string::npos)
        << said;
    expectGoesOn();
  }
};

TEST_F(RuntimeRankLoss, OneIsKilled) { lose(2, SIGKILL, "rank 2 is gone"); }
TEST_F(RuntimeRankLoss, TheFirstIsKilled) { lose(0, SIGKILL, "rank 0 is gone"); }
TEST_F(RuntimeRankLoss, OneIsStopped) {
  lose(1, SIGSTOP, "rank 1 has not been heard of for 2 s (--comm-timeout)");
}

TEST_F(RuntimeRankLoss, ASignalToOneStopsAllAfterTheSameStep) {
  Job job(path(""), flags("100000000"));
  ASSERT_TRUE(reaches(45)) << read("err.txt");
  kill(job.rank(1), SIGTERM);
  EXPECT_EQ(job.await(120), 143) << read("err.txt");
  const auto log = readLog("log.jsonl");
  EXPECT_TRUE(fs::exists(path("ck/step-" + std::to_string(log.size()) + "/manifest.json")));
  expectGoesOn();
}

TEST_F(RuntimeRankLoss, TheWholeJobIsKilledAndGoesOnAsIfItHadNotBeen) {
  Job whole(path(""), std::string(kLineData) + " --shuffle 5 --steps 400 --log whole.jsonl");
  ASSERT_EQ(whole.await(300), 0) << read("err.txt");
  bool resumed = false;
  for (size_t at : {25, 110, 111, 230}) {
    Job job(path(""), flags("400") + (resumed ? "--resume" : ""));
    ASSERT_TRUE(reaches(at)) << read("err.txt");
    job.killAll();
    resumed = true;
  }
  Job last(path(""), flags("400") + "--resume");
  ASSERT_EQ(last.await(300), 0) << read("err.txt");
  EXPECT_EQ(withoutTimes(readLog("log.jsonl")), withoutTimes(readLog("whole.jsonl")));
}

} // namespace
} // namespace kedge::test
