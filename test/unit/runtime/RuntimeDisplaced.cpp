// Threads that do not run change processors with one that waits for them.
#include "runtime/exec/DisplacedThreads.h"
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

/// A helper with something to do, that runs or does not.
class Helper {
public:
  static constexpr int kSlot = 3;

  Helper(bool runs, const cpu_set_t &set)
      : thread([this, runs, set] {
          restrict(0, set);
          noteLoopThread(kSlot, /*idles=*/true);
          const ThreadAtWork working(kSlot);
          id.store(gettid());
          while (!ends.load())
            if (!runs)
              std::this_thread::sleep_for(std::chrono::milliseconds(200)); // the caller looks for 20 us
        }) {
    while (id.load() == 0)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it sleeps by now, or runs
  }
  ~Helper() {
    ends.store(true);
    thread.join();
  }

  cpu_set_t allowed() const { return allowedTo(id.load()); }

private:
  std::atomic<pid_t> id{0};
  std::atomic<bool> ends{false};
  std::thread thread;
};

class RuntimeDisplaced : public ::testing::Test {
protected:
  void SetUp() override {
    usual = allowedTo(0);
    here = sched_getcpu(), there = otherIn(usual, here);
    if (there < 0)
      GTEST_SKIP() << "the process has one processor";
    restrict(0, only(here)); // no one moves us meanwhile
    noteLoopThread(0, /*idles=*/false);
    restrict(0, usual);
  }
  void TearDown() override { restrict(0, usual); }

  cpu_set_t usual{};
  int here = -1, there = -1;
};

TEST_F(RuntimeDisplaced, ComesHereForAWhile) {
  const Helper helper(/*runs=*/false, usual);
  makeRoomForDisplaced();
  const cpu_set_t put = helper.allowed();
  EXPECT_EQ(CPU_COUNT(&put), 1);
  letDisplacedGo();
  const cpu_set_t still = helper.allowed();
  EXPECT_EQ(CPU_COUNT(&still), 1) << "the time is not over";
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  letDisplacedGo();
  const cpu_set_t after = helper.allowed(), own = allowedTo(0);
  EXPECT_TRUE(CPU_EQUAL(&after, &usual));
  EXPECT_TRUE(CPU_EQUAL(&own, &usual));
}

TEST_F(RuntimeDisplaced, OneThatRunsStaysWhereItIs) {
  const Helper helper(/*runs=*/true, usual);
  bool stayed = false;
  for (int attempt = 0; attempt < 50 && !stayed; ++attempt) { // other processes may really keep it off
    makeRoomForDisplaced();
    const cpu_set_t after = helper.allowed();
    stayed = CPU_EQUAL(&after, &usual);
    std::this_thread::sleep_for(std::chrono::milliseconds(stayed ? 0 : 110));
    letDisplacedGo();
  }
  EXPECT_TRUE(stayed);
}

TEST_F(RuntimeDisplaced, OneThatMayNotComeStaysWhereItIs) {
  restrict(0, only(here));
  const Helper helper(/*runs=*/false, only(there));
  makeRoomForDisplaced();
  const cpu_set_t after = helper.allowed(), own = allowedTo(0), expected = only(there), mine = only(here);
  EXPECT_TRUE(CPU_EQUAL(&after, &expected));
  EXPECT_TRUE(CPU_EQUAL(&own, &mine));
}

} // namespace
} // namespace kedge::rt
