// Which rank reports that another is lost: one only, however late it gets time to.
#include "runtime/comm/Communicator.h"
#include "runtime/comm/messages/Lookout.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kedge::test {
namespace {

using namespace rt::messages;

/// Nothing arrives; ranks are lost when the test says so.
class SilentMessages final : public Messages {
public:
  void start() override {}
  Request send(int64_t, int, const void *, size_t) override { return nullptr; }
  Request receive(int64_t, int, void *, size_t) override { return this; }
  bool test(Request &request) override { return !request; }
  bool testAll(Request *, size_t) override { return false; }
  void cancel(Request &request) override { request = nullptr; }
  bool isLost(int64_t rank) const override { return lost[rank]; }
  void finish() override {}

  bool lost[3] = {};
};

/// Rank 1 of three, of which each should be heard of once in ten minutes.
class RuntimeWatch : public testing::Test {
protected:
  void tickFor(double seconds) {
    const int64_t end = rt::steadyNanoseconds() + static_cast<int64_t>(seconds * 1e9);
    while (rt::steadyNanoseconds() < end && !watch.hasStopped()) {
      watch.tick([] { return "dist.all_reduce"; });
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  SilentMessages messages;
  Watch watch{messages, rt::World{1, 3}, 600};
};

TEST_F(RuntimeWatch, AnotherRankHasTimeToSpeakForAll) {
  watch.begin({Watch::ProcessIdentity{}, Watch::ProcessIdentity{}, Watch::ProcessIdentity{}});
  messages.lost[2] = true;
  testing::internal::CaptureStderr();
  tickFor(2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(watch.hasStopped());
}

TEST_F(RuntimeWatch, ItSpeaksWhenTheOtherIsLostToo) {
  watch.begin({Watch::ProcessIdentity{}, Watch::ProcessIdentity{}, Watch::ProcessIdentity{}});
  messages.lost[2] = true;
  testing::internal::CaptureStderr();
  tickFor(0.5);
  messages.lost[0] = true;
  tickFor(2.5);
  EXPECT_TRUE(watch.hasStopped());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kedge: error: rank 2 is gone: its connection has ended; rank 1 was in "
            "dist.all_reduce; the last checkpoint is whole\n");
}

/// It could not hear the others meanwhile.
TEST(RuntimeStoppedWatch, OneThatWasStoppedBlamesNobody) {
  SilentMessages messages;
  Watch watch(messages, rt::World{1, 3}, 0.4);
  watch.begin({Watch::ProcessIdentity{}, Watch::ProcessIdentity{}, Watch::ProcessIdentity{}});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  bool asked = false;
  watch.tick([&] {
    asked = true; // what it waits for is told with whom it blames
    return "dist.all_reduce";
  });
  EXPECT_FALSE(asked);
}

/// Rank `rank` of three, whose rank 2 is a process that ends; rank 0 is this one.
void lookOut(int64_t rank, bool passes) {
  SilentMessages messages;
  Watch watch(messages, rt::World{rank, 3}, 600);
  Lookout lookout(rank, watch);
  const pid_t other = fork();
  if (other == 0) {
    pause();
    _exit(0);
  }
  const auto here = Watch::ownIdentity();
  watch.begin({here, Watch::ProcessIdentity{}, Watch::ProcessIdentity{here.host, other}});
  watch.nameRanks({"data 0", "data 1", "data 2"});
  lookout.begin();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  for (int i = 0; i < 300; ++i) {
    if (passes)
      lookout.pass();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  _exit(0);
}

TEST(RuntimeLookoutDeathTest, ItSpeaksWhereTheProgressThreadDoesNotGoOn) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(lookOut(0, false), testing::ExitedWithCode(1),
              "^kedge: error: rank 2 \\(data 2\\) is gone: its process [0-9]+ has ended; the last checkpoint "
              "is whole\n$");
}

TEST(RuntimeLookoutDeathTest, TheProgressThreadSpeaksWhereItGoesOn) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(lookOut(0, true), testing::ExitedWithCode(0), "^$");
}

TEST(RuntimeLookoutDeathTest, TheFirstRankSpeaks) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(lookOut(1, false), testing::ExitedWithCode(0), "^$");
}

} // namespace
} // namespace kedge::test
