// One connection to another rank: what the other sent before it closed is read, whatever can be sent to it.
#include "runtime/comm/Communicator.h"
#include "runtime/comm/tcp/Channel.h"
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>

namespace kedge::test {
namespace {

using namespace rt::tcp;

class RuntimeRankChannel : public testing::Test {
protected:
  void SetUp() override {
    const Socket listening = listenAt(0);
    Socket connected = connectTo("127.0.0.1", portOf(listening), soon());
    ASSERT_TRUE(connected.isOpen());
    peer = acceptFrom(listening, soon());
    ASSERT_TRUE(peer->isOpen());
    channel.open(std::move(connected));
  }

  static int64_t soon() { return rt::steadyNanoseconds() + 20'000'000'000; }

  void peerSays(const std::string &words, size_t bytesOnTheWay) {
    const Head head{words.size(), kTag};
    const std::string bytes = std::string(reinterpret_cast<const char *>(&head), sizeof(head)) + words;
    ASSERT_TRUE(peer->sendAll(bytes.data(), std::min(bytes.size(), bytesOnTheWay), soon()));
  }

  /// The peer closes with bytes unread, so that the connection is reset; returns when nothing can be sent.
  void peerGoesUntilNothingCanBeSent() {
    Post unread{text.data(), nullptr, text.size(), kTag};
    channel.send(unread);
    channel.advance();
    ASSERT_TRUE(unread.done);
    peer.reset();
    for (const int64_t end = soon(); rt::steadyNanoseconds() < end;) {
      beat = {text.data(), nullptr, text.size(), kTag};
      channel.send(beat);
      channel.advance();
      if (!channel.isSent())
        return;
      std::this_thread::yield();
    }
    FAIL() << "a closed connection takes all that is sent";
  }

  Post mail() { return {nullptr, heard.data(), heard.size(), Channel::kAnyTag}; }
  void advanceFor(double seconds) {
    for (const int64_t end = rt::steadyNanoseconds() + static_cast<int64_t>(seconds * 1e9);
         rt::steadyNanoseconds() < end && !channel.hasEnded();)
      channel.advance();
  }

  static constexpr int kTag = 7;
  const std::string text = "a heartbeat";
  std::array<char, 64> heard{};
  std::optional<Socket> peer;
  Post beat; ///< the channel keeps the one that it could not send
  Channel channel;
};

TEST_F(RuntimeRankChannel, TheLastMessageIsReadAfterASendHasFailed) {
  peerSays("stop", 1000);
  peerSays("and more", 1000);
  peerGoesUntilNothingCanBeSent();
  EXPECT_TRUE(channel.hasEnded()); // nothing is to be received
  for (const std::string words : {"stop", "and more"}) {
    Post last = mail();
    channel.receive(last);
    EXPECT_FALSE(channel.hasEnded()) << "before '" << words << "' was read";
    channel.advance();
    ASSERT_TRUE(last.done) << words;
    EXPECT_EQ(std::string(heard.data(), last.count), words);
    EXPECT_EQ(last.tag, kTag);
  }
  Post none = mail();
  channel.receive(none);
  advanceFor(20);
  EXPECT_TRUE(channel.hasEnded());
  EXPECT_FALSE(none.done);
}

TEST_F(RuntimeRankChannel, AMessageThatDidNotComeWholeIsNone) {
  for (const size_t bytes : {sizeof(Head) - 1, sizeof(Head) + 2}) {
    if (!peer) {
      channel = Channel();
      SetUp();
    }
    peerSays("stop", bytes);
    Post part = mail();
    channel.receive(part);
    peerGoesUntilNothingCanBeSent();
    advanceFor(20);
    EXPECT_TRUE(channel.hasEnded());
    EXPECT_FALSE(part.done);
  }
}

TEST_F(RuntimeRankChannel, AnOrderlyEndIsSeenOnceAllIsRead) {
  peerSays("farewell", 1000);
  peer.reset();
  Post last = mail(), none = mail();
  channel.receive(last);
  channel.receive(none);
  advanceFor(20);
  EXPECT_TRUE(channel.hasEnded());
  EXPECT_TRUE(last.done);
  EXPECT_FALSE(none.done);
}

} // namespace
} // namespace kedge::test
