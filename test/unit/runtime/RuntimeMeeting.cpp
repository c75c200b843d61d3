// How ranks without MPI find each other, and what a process knows of its rank.
#include "runtime/comm/Communicator.h"
#include "runtime/comm/tcp/Meeting.h"
#include "test/support/ScopedVariable.h"
#include "test/unit/runtime/RuntimeTest.h"
#include "test/unit/runtime/Torchrun.h"
#include <thread>

namespace kedge::test {
namespace {

using rt::Rendezvous;
using rt::tcp::Connection;

/// What each rank of `size` found out, each in a thread; "" where it met all others.
std::vector<std::string> meetAs(const std::vector<int64_t> &ranks, int64_t size, const Rendezvous &place,
                                double seconds = 20) {
  std::vector<std::string> said(ranks.size());
  std::vector<std::vector<Connection>> met(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        met[i] = rt::tcp::meet({ranks[i], size}, place, seconds);
      } catch (const rt::RuntimeError &error) {
        said[i] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  // What one rank sends to another comes to it, on either channel.
  const int64_t soon = rt::steadyNanoseconds() + 5'000'000'000;
  for (size_t from = 0; from < met.size(); ++from)
    for (size_t to = 0; to < met.size(); ++to) {
      if (met[from].empty() || met[to].empty() || from == to)
        continue;
      const int64_t word = static_cast<int64_t>(100 * from + to);
      int64_t heard = 0;
      const Connection &mine = met[from][static_cast<size_t>(ranks[to])],
                       &theirs = met[to][static_cast<size_t>(ranks[from])];
      EXPECT_TRUE(mine.data.sendAll(&word, sizeof(word), soon) &&
                  theirs.data.receiveAll(&heard, sizeof(heard), soon));
      EXPECT_EQ(heard, word);
      EXPECT_TRUE(mine.control.sendAll(&word, sizeof(word), soon) &&
                  theirs.control.receiveAll(&heard, sizeof(heard), soon));
    }
  return said;
}

Rendezvous somewhere() { return {"127.0.0.1", freePort(), false, "a job"}; }

TEST(RuntimeMeeting, EveryTwoRanksAreConnected) {
  EXPECT_EQ(meetAs({0, 1, 2, 3}, 4, somewhere()), std::vector<std::string>(4));
  EXPECT_EQ(meetAs({1, 0}, 2, somewhere()), std::vector<std::string>(2));
}

TEST(RuntimeMeeting, APortThatIsTakenIsPassed) {
  Rendezvous place = somewhere();
  const rt::tcp::Socket launcher = rt::tcp::listenAt(place.port); // and says nothing
  place.isTaken = true;
  EXPECT_EQ(meetAs({0, 1, 2}, 3, place), std::vector<std::string>(3));
  place.isTaken = false; // nobody told, but it is
  EXPECT_EQ(meetAs({0, 1}, 2, place), std::vector<std::string>(2));
}

TEST(RuntimeMeeting, WhoDoesNotComeIsNamed) {
  const auto said = meetAs({0, 2}, 4, somewhere(), 0.5);
  EXPECT_NE(said[0].find("rank 0 waited 0.5 s for ranks 1, 3 of 4"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("rank 2 reached rank 0, which did not say within 0.5 s where the others are"),
            std::string::npos)
      << said[1];
  const auto alone = meetAs({1}, 2, somewhere(), 0.5);
  EXPECT_NE(alone[0].find("rank 1 did not reach rank 0 at 127.0.0.1, port"), std::string::npos) << alone[0];
  EXPECT_NE(alone[0].find("Connection refused"), std::string::npos) << alone[0];
  Rendezvous nowhere = somewhere();
  nowhere.host = "no.such.host.invalid";
  EXPECT_NE(meetAs({1}, 2, nowhere, 0.5)[0].find("rank 1 did not reach rank 0 at no.such.host.invalid"),
            std::string::npos);
}

TEST(RuntimeMeeting, AnotherJobsRanksAreNotLetIn) {
  const Rendezvous place = somewhere();
  Rendezvous other = place;
  other.job = "another job";
  std::vector<std::string> strangers;
  std::thread stranger([&] { strangers = meetAs({1}, 2, other, 1); });
  EXPECT_EQ(meetAs({0, 1}, 2, place), std::vector<std::string>(2));
  stranger.join();
  EXPECT_NE(strangers[0].find("did not reach rank 0"), std::string::npos);
}

TEST(RuntimeMeeting, TwoProcessesOfOneRankAreRefused) {
  const auto said = meetAs({0, 1, 1}, 3, somewhere(), 2);
  EXPECT_NE(said[0].find("two processes say that they are rank 1 of 3 (RANK)"), std::string::npos) << said[0];
}

/// The words of a rank's connection: magic, job, rank, channel, port, the rank that it looks for.
struct Words {
  char magic[8];
  uint64_t job;
  int32_t rank, channel;
  int64_t port, wanted;
};

/// Who looks for rank 0 tries several ports, and one of them may be where another rank listens, or itself.
TEST(RuntimeMeeting, WhoLooksForTheFirstRankIsNoVisitorOfAnother) {
  const int64_t soon = rt::steadyNanoseconds() + 20'000'000'000;
  const Rendezvous place = somewhere();
  const rt::tcp::Socket first = rt::tcp::listenAt(place.port);
  ASSERT_TRUE(first.isOpen());
  std::string said;
  std::vector<Connection> met;
  std::thread second([&] {
    try {
      met = rt::tcp::meet({1, 3}, place, 20);
    } catch (const rt::RuntimeError &error) {
      said = error.what();
    }
  });
  std::vector<rt::tcp::Socket> open;
  Words words{};
  for (int channel = 0; channel < 2; ++channel) { // this is rank 0
    open.push_back(rt::tcp::acceptFrom(first, soon));
    EXPECT_TRUE(open.back().receiveAll(&words, sizeof(words), soon));
    Words answer = words;
    answer.rank = 0;
    EXPECT_TRUE(open.back().sendAll(&answer, sizeof(answer), soon));
  }
  const auto visit = [&](int32_t rank, int32_t channel, int64_t wanted) {
    Words mine = words;
    mine.rank = rank;
    mine.channel = channel;
    mine.wanted = wanted;
    open.push_back(rt::tcp::connectTo("127.0.0.1", words.port, soon));
    EXPECT_TRUE(open.back().sendAll(&mine, sizeof(mine), soon));
  };
  for (const int32_t rank : {1, 2})
    visit(rank, 0, 0);
  const std::vector<char> addresses(3 * 72, 0); // rank 1 visits nobody else
  EXPECT_TRUE(open.front().sendAll(addresses.data(), addresses.size(), soon));
  for (const int32_t channel : {0, 1})
    visit(2, channel, 1);
  second.join();
  EXPECT_EQ(said, "");
  ASSERT_EQ(met.size(), 3u);
  const char word = 'k';
  char heard = 0;
  EXPECT_TRUE(open.back().sendAll(&word, 1, soon) && met[2].data.receiveAll(&heard, 1, soon));
  EXPECT_EQ(heard, word);
}

TEST(RuntimeMeeting, AllPortsTaken) {
  Rendezvous place = somewhere();
  std::vector<rt::tcp::Socket> taken;
  for (int64_t port = place.port; port <= place.port + rt::tcp::kPorts; ++port)
    taken.push_back(rt::tcp::listenAt(port));
  EXPECT_NE(meetAs({0}, 2, place, 1)[0].find("rank 0 cannot listen at a port from"), std::string::npos);
}

std::string refusalOf(bool withTorchrun) {
  try {
    rt::launchedAs(withTorchrun);
    return "";
  } catch (const rt::RuntimeError &error) {
    return error.what();
  }
}

TEST(RuntimeLauncher, TorchrunsVariables) {
  const ScopedVariable rank("RANK", "2"), size("WORLD_SIZE", "4"), local("LOCAL_RANK", "1"),
      perMachine("LOCAL_WORLD_SIZE", "2");
  EXPECT_NE(refusalOf(false).find("torchrun does not start"), std::string::npos);
  EXPECT_NE(refusalOf(true).find("MASTER_ADDR= and MASTER_PORT= are no place"), std::string::npos);
  const ScopedVariable host("MASTER_ADDR", "node-7"), port("MASTER_PORT", "29500"),
      id("TORCHELASTIC_RUN_ID", "none");
  const ScopedVariable agent("TORCHELASTIC_USE_AGENT_STORE", "True"), tasks("SLURM_STEP_NUM_TASKS", "2"),
      pmix("PMIX_RANK", "1");
  const rt::Launched launched = rt::launchedAs(true);
  EXPECT_EQ(launched.world.rank, 2);
  EXPECT_EQ(launched.world.size, 4);
  EXPECT_EQ(launched.localRank, 1);
  EXPECT_EQ(launched.localSize, 2);
  ASSERT_TRUE(launched.meeting);
  EXPECT_EQ(launched.meeting->host, "node-7");
  EXPECT_EQ(launched.meeting->port, 29500);
  EXPECT_TRUE(launched.meeting->isTaken);
  const std::string job = launched.meeting->job;
  const ScopedVariable restarted("TORCHELASTIC_RESTART_COUNT", "1");
  EXPECT_NE(rt::launchedAs(true).meeting->job, job);
}

TEST(RuntimeLauncher, LocalRanksOfMpirunAndSrun) {
  {
    const ScopedVariable size("OMPI_COMM_WORLD_SIZE", "4"), rank("OMPI_COMM_WORLD_RANK", "3"),
        local("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    EXPECT_EQ(rt::launchedAs(true).localRank, 1);
    EXPECT_FALSE(rt::launchedAs(true).meeting);
  }
  const ScopedVariable size("SLURM_STEP_NUM_TASKS", "4"), rank("PMIX_RANK", "3"), local("SLURM_LOCALID", "1");
  EXPECT_EQ(rt::launchedAs(true).localRank, 1);
  EXPECT_EQ(rt::launchedAs(true).world.rank, 3);
}

} // namespace
} // namespace kedge::test
