// Which rank reports that another is lost: one only, however late it gets time to.
#include "runtime/comm/Communicator.h"
#include "runtime/comm/messages/Lookout.h"
#include "runtime/io/LastCheckpoint.h"
#include <cstddef>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kedge::test {
namespace {

using namespace rt::messages;

/// What the test says arrives, and ranks are lost when it says so.
class SilentMessages final : public Messages {
public:
  void start() override {}
  Request send(int64_t, int, const void *, size_t) override { return nullptr; }
  Request receive(int64_t, int, void *bytes, size_t) override {
    receiving = bytes;
    return this;
  }
  bool test(Request &request) override { return !request; }
  bool testAnyones(Request &request, Sender &sender) override {
    if (arriving.empty())
      return false;
    const auto [from, bytes] = arriving.front();
    arriving.pop_front();
    std::memcpy(receiving, bytes.data(), std::min(bytes.size(), sizeof(Control)));
    sender = {from, bytes.size()};
    request = nullptr;
    return true;
  }
  bool testAll(Request *, size_t) override { return false; }
  void cancel(Request &request) override { request = nullptr; }
  bool isLost(int64_t rank) const override { return lost[rank]; }
  void finish() override {}

  /// Rank `from` says so; `bytes`: of the message that come.
  void bring(int64_t from, Control::Kind kind, const std::string &text, size_t bytes = std::string::npos) {
    Control control;
    control.kind = kind;
    std::memset(control.text, 'x', sizeof(control.text)); // what follows the message is none of it
    std::memcpy(control.text, text.c_str(), std::min(text.size() + 1, sizeof(control.text)));
    const size_t whole = std::min(offsetof(Control, text) + text.size() + 1, sizeof(control));
    arriving.emplace_back(from,
                          std::string(reinterpret_cast<const char *>(&control), std::min(bytes, whole)));
  }

  bool lost[3] = {};
  std::deque<std::pair<int64_t, std::string>> arriving;
  void *receiving = nullptr;
};

/// Rank 1 of three, of which each should be heard of once in ten minutes.
class RuntimeWatch : public testing::Test {
protected:
  void SetUp() override { rt::hasCheckpoint = false; } // tests before may have written one

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
  watch.begin();
  messages.lost[2] = true;
  testing::internal::CaptureStderr();
  tickFor(2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(watch.hasStopped());
}

TEST_F(RuntimeWatch, ItSpeaksWhenTheOtherIsLostToo) {
  watch.begin();
  messages.lost[2] = true;
  testing::internal::CaptureStderr();
  tickFor(0.5);
  messages.lost[0] = true;
  tickFor(2.5);
  EXPECT_TRUE(watch.hasStopped());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kedge: error: rank 2 is gone: its connection has ended; rank 1 was in "
            "dist.all_reduce; there is no checkpoint yet\n");
}

TEST_F(RuntimeWatch, TextIsCleanedAndEndsWithItsMessage) {
  watch.begin();
  messages.bring(0, Control::Kind::Failure, "red \x1b[31m and \x9b bytes");
  messages.lost[0] = true; // it speaks for it
  testing::internal::CaptureStderr();
  tickFor(7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "kedge: error: rank 0: red \\x1b[31m and \\x9b bytes\n");
}

TEST_F(RuntimeWatch, ATextWithoutAnEndEndsWithItsMessage) {
  watch.begin();
  messages.bring(0, Control::Kind::Loss, std::string(2 * Control::kText, 'a'));
  messages.lost[0] = true;
  testing::internal::CaptureStderr();
  tickFor(7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kedge: error: " + std::string(Control::kText, 'a') + "\n");
}

TEST_F(RuntimeWatch, AStopOfAnotherThanTheFirstIsTold) {
  watch.begin();
  messages.bring(2, Control::Kind::Stop, "so it says");
  testing::internal::CaptureStderr();
  tickFor(1);
  EXPECT_TRUE(watch.hasStopped());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "kedge: error: rank 2 has ended the job: so it says\n");
}

TEST_F(RuntimeWatch, AStopWithoutAWordIsTold) {
  watch.begin();
  messages.bring(0, Control::Kind::Stop, "");
  testing::internal::CaptureStderr();
  tickFor(1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "kedge: error: rank 0 has ended the job without saying why\n");
}

TEST_F(RuntimeWatch, AStopOfTheFirstHasBeenTold) {
  watch.begin();
  messages.bring(0, Control::Kind::Stop, "it was printed");
  testing::internal::CaptureStderr();
  tickFor(1);
  EXPECT_TRUE(watch.hasStopped());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(RuntimeWatch, WhatIsNoControlMessageIsRefused) {
  const auto tick = [&] { watch.tick([] { return nullptr; }); };
  watch.begin();
  messages.bring(0, static_cast<Control::Kind>(77), "");
  EXPECT_THROW(tick(), rt::RuntimeError);
  messages.bring(0, Control::Kind::Beat, "", 3);
  EXPECT_THROW(tick(), rt::RuntimeError);
  for (const int64_t from : {-1, 3, 1 << 30}) {
    messages.bring(from, Control::Kind::Beat, "");
    EXPECT_THROW(tick(), rt::RuntimeError);
  }
}

TEST_F(RuntimeWatch, NumbersThatAreNoProcessAreNotLookedAfter) {
  const uint64_t here = Watch::ownIdentity().host;
  for (const int64_t process : {int64_t(0), int64_t(-1), -int64_t(getpid()), int64_t(1) << 40}) {
    watch.identify({{here, process}, {here, getpid()}, {here, process}});
    EXPECT_EQ(watch.processes(), std::vector<int64_t>(3)) << process;
  }
}

/// It could not hear the others meanwhile.
TEST(RuntimeStoppedWatch, OneThatWasStoppedBlamesNobody) {
  SilentMessages messages;
  Watch watch(messages, rt::World{1, 3}, 0.4);
  watch.begin();
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
  watch.begin();
  watch.identify({here, Watch::ProcessIdentity{}, Watch::ProcessIdentity{here.host, other}});
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
  EXPECT_EXIT(
      lookOut(0, false), testing::ExitedWithCode(1),
      "^kedge: error: rank 2 \\(data 2\\) is gone: its process [0-9]+ has ended; there is no checkpoint "
      "yet\n$");
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
