// Threads that do not run change processors with one that waits for them.
#include "runtime/platform/DisplacedThreads.h"
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace kedge::rt {
namespace {

cpu_set_t allowedTo(pid_t thread) {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(thread, sizeof set, &set), 0);
  return set;
}

void restrict(pid_t thread, const cpu_set_t &set) {
  ASSERT_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
}

cpu_set_t only(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return set;
}

/// Another processor of the set; -1: none.
int otherIn(const cpu_set_t &set, int processor) {
  for (int other = 0; other < CPU_SETSIZE; ++other)
    if (other != processor && CPU_ISSET(other, &set))
      return other;
  return -1;
}

/// Runs on a processor as another process would.
class Spinner {
public:
  explicit Spinner(int processor)
      : thread([this, processor] {
          restrict(0, only(processor));
          while (!ends.load()) {
          }
        }) {}
  ~Spinner() {
    ends.store(true);
    thread.join();
  }

private:
  std::atomic<bool> ends{false};
  std::thread thread;
};

/// What a helper does in a part: it runs, or leaves its processor to all others, or sleeps.
enum class Doing { Runs, GivesWay, Sleeps };

class Helper {
public:
  Helper(Doing what, const cpu_set_t &set)
      : thread([this, what, set] {
          restrict(0, set);
          noteLoopThread(/*slot=*/3);
          const ThreadAtWork working;
          id.store(gettid());
          while (!ends.load())
            if (what == Doing::Sleeps)
              std::this_thread::sleep_for(std::chrono::milliseconds(200)); // the caller looks for 20 us
        }) {
    while (id.load() == 0)
      std::this_thread::yield();
    if (what == Doing::GivesWay)
      schedule(SCHED_IDLE);
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it does so by now
  }
  ~Helper() {
    ends.store(true);
    schedule(SCHED_OTHER); // on a busy machine it would not come to its end for seconds
    thread.join();
  }

  cpu_set_t allowed() const { return allowedTo(id.load()); }

private:
  void schedule(int policy) {
    const sched_param priority{};
    sched_setscheduler(id.load(), policy, &priority);
  }

  std::atomic<pid_t> id{0};
  std::atomic<bool> ends{false};
  std::thread thread;
};

/// An idle machine needs some milliseconds.
std::chrono::steady_clock::time_point patience() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

bool isEqual(const cpu_set_t &a, const cpu_set_t &b) { return CPU_EQUAL(&a, &b); }

class RuntimeDisplaced : public ::testing::Test {
protected:
  void SetUp() override {
    usual = allowedTo(0);
    here = sched_getcpu(), there = otherIn(usual, here);
    if (there < 0)
      GTEST_SKIP() << "the process has one processor";
    restrict(0, only(here)); // nobody moves us meanwhile
    noteLoopThread(0);
    CPU_ZERO(&both);
    CPU_SET(here, &both);
    CPU_SET(there, &both);
    restrict(0, both);
  }
  void TearDown() override {
    letDisplacedGoNow();
    restrict(0, usual);
  }

  cpu_set_t usual{}, both{};
  int here = -1, there = -1;
};

TEST_F(RuntimeDisplaced, ComesHereForAWhile) {
  const Spinner other(there);
  const Helper helper(Doing::GivesWay, both);
  bool isPut = false;
  // It may get its turn when the caller sleeps, or when other processes keep the caller off.
  for (const auto end = patience(); std::chrono::steady_clock::now() < end && !isPut;) {
    makeRoomForDisplaced();
    const cpu_set_t after = helper.allowed();
    isPut = CPU_COUNT(&after) == 1;
  }
  ASSERT_TRUE(isPut);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_FALSE(isEqual(helper.allowed(), both)) << "nobody let it go";
  letDisplacedGo();
  EXPECT_TRUE(isEqual(helper.allowed(), both));
  EXPECT_TRUE(isEqual(allowedTo(0), both));
}

// The system moves the caller to the helper's processor: where the caller was before is free, and where
// another helper was that has nothing to do.
TEST_F(RuntimeDisplaced, ACallerThatWasMovedLeaves) {
  const Spinner other(there);
  std::thread([this] {
    restrict(0, only(here));
    noteLoopThread(/*slot=*/4);
    const ThreadAtWork working;
  }).join();
  const Helper helper(Doing::GivesWay, only(there));
  const CallerStays stays;
  bool left = false;
  for (const auto end = patience(); std::chrono::steady_clock::now() < end && !left;) {
    restrict(0, only(there));
    restrict(0, both);
    makeRoomForDisplaced();
    left = isEqual(allowedTo(0), only(here));
  }
  EXPECT_TRUE(left);
}

TEST_F(RuntimeDisplaced, StaysUntilTheTimeIsOver) {
  const Spinner other(there);
  const Helper helper(Doing::GivesWay, both);
  const CallerStays stays;
  for (const auto late = patience();
       std::chrono::steady_clock::now() < late && isEqual(helper.allowed(), both);) {
    makeRoomForDisplaced();
    const bool isPut = !isEqual(helper.allowed(), both);
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (isPut && std::chrono::steady_clock::now() < soon)
      letDisplacedGo();
  }
  EXPECT_FALSE(isEqual(helper.allowed(), both));
  EXPECT_FALSE(isEqual(allowedTo(0), both)) << "the caller stays, too";
  letDisplacedGoNow();
  EXPECT_TRUE(isEqual(helper.allowed(), both));
  EXPECT_TRUE(isEqual(allowedTo(0), both));
}

TEST_F(RuntimeDisplaced, OneThatRunsStaysWhereItIs) {
  const Helper helper(Doing::Runs, both);
  bool stayed = false;
  for (int attempt = 0; attempt < 50 && !stayed; ++attempt) { // other processes may really keep it off
    makeRoomForDisplaced();
    stayed = isEqual(helper.allowed(), both);
    letDisplacedGoNow();
  }
  EXPECT_TRUE(stayed);
}

TEST_F(RuntimeDisplaced, OneThatWaitsStaysWhereItIs) {
  const Helper helper(Doing::Sleeps, both);
  makeRoomForDisplaced();
  EXPECT_TRUE(isEqual(helper.allowed(), both));
}

TEST_F(RuntimeDisplaced, OneThatMayNotComeStaysWhereItIs) {
  restrict(0, only(here));
  const Spinner other(there);
  const Helper helper(Doing::GivesWay, only(there));
  for (int attempt = 0; attempt < 20; ++attempt)
    makeRoomForDisplaced();
  EXPECT_TRUE(isEqual(helper.allowed(), only(there)));
  EXPECT_TRUE(isEqual(allowedTo(0), only(here)));
}

} // namespace
} // namespace kedge::rt
