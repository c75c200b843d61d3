// How ranks without MPI find each other, and what a process knows of its rank.
#include "runtime/comm/Communicator.h"
#include "runtime/comm/tcp/Greeting.h"
#include "runtime/comm/tcp/Meeting.h"
#include "test/support/ScopedVariable.h"
#include "test/unit/runtime/RuntimeTest.h"
#include "test/unit/runtime/Torchrun.h"
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kedge::test {
namespace {

using rt::Rendezvous;
using rt::tcp::Address;
using rt::tcp::Connection;
using rt::tcp::GreetingVerdict;
using rt::tcp::Hello;
using rt::tcp::Socket;
using rt::tcp::Visit;

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
  EXPECT_NE(said[1].find("rank 2 reached rank 0, which has ended and did not say within 0.5 s where the "
                         "others are"),
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

double secondsSince(int64_t begin) { return static_cast<double>(rt::steadyNanoseconds() - begin) / 1e9; }
int64_t soon() { return rt::steadyNanoseconds() + 20'000'000'000; }

/// What a stranger hears while ranks 0 and 1 meet all the same; it hears it at once.
std::string heardBy(int64_t rank, int64_t size, const Rendezvous &other, const Rendezvous &place) {
  std::vector<std::string> said, strangers;
  std::thread first([&] { said = meetAs({0}, 2, place); });
  const int64_t begin = rt::steadyNanoseconds();
  strangers = meetAs({rank}, size, other);
  EXPECT_LT(secondsSince(begin), 5);
  EXPECT_EQ(meetAs({1}, 2, place), std::vector<std::string>(1));
  first.join();
  EXPECT_EQ(said, std::vector<std::string>(1));
  return strangers[0];
}

TEST(RuntimeMeeting, AnotherJobsRanksAreToldSoAtOnce) {
  const Rendezvous place = somewhere();
  Rendezvous other = place;
  other.job = "another job";
  const std::string said = heardBy(1, 2, other, place);
  EXPECT_NE(said.find("rank 1 of 2 did not reach rank 0 at 127.0.0.1, port"), std::string::npos) << said;
  EXPECT_NE(said.find("ranks of another job, or of another start of it, meet there (TORCHELASTIC_RUN_ID"),
            std::string::npos)
      << said;
}

TEST(RuntimeMeeting, AnotherNumberOfRanksIsToldAtOnce) {
  const Rendezvous place = somewhere();
  EXPECT_NE(heardBy(2, 3, place, place).find("started with another number of ranks (WORLD_SIZE)"),
            std::string::npos);
}

TEST(RuntimeMeeting, TwoProcessesOfOneRankAreRefused) {
  const auto said = meetAs({0, 1, 1}, 3, somewhere(), 2);
  EXPECT_NE(said[0].find("two processes say that they are rank 1 of 3 (RANK)"), std::string::npos) << said[0];
}

/// Rank `rank` of `size` in a process of its own, with these variables; it says what it heard.
class Process {
public:
  Process(int64_t rank, int64_t size, const Rendezvous &place,
          const std::vector<std::pair<const char *, std::string>> &variables = {}, double seconds = 20) {
    EXPECT_EQ(pipe(ends), 0);
    child = fork();
    if (child != 0) {
      close(ends[1]);
      return;
    }
    std::string said = "met";
    try {
      for (const auto &[name, value] : variables)
        setenv(name, value.c_str(), 1);
      const auto met = rt::tcp::meet({rank, size}, place, seconds);
    } catch (const rt::RuntimeError &error) {
      said = error.what();
    }
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  ~Process() { said(); }

  void tell(int signal) const { kill(child, signal); }
  std::string said() {
    char bytes[1024];
    if (child == 0)
      return heard;
    for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof(bytes))) > 0;)
      heard.append(bytes, static_cast<size_t>(count));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    child = 0;
    return heard;
  }

private:
  int ends[2] = {-1, -1};
  pid_t child = 0;
  std::string heard;
};

void pass(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST(RuntimeMeeting, AFirstRankThatIsBusyIsFoundAll) {
  const Rendezvous place = somewhere();
  Process first(0, 2, place);
  pass(200);
  first.tell(SIGSTOP);
  Process second(1, 2, place);
  pass(2600); // longer than it waits for an answer: it tries again
  first.tell(SIGCONT);
  EXPECT_EQ(first.said(), "met");
  EXPECT_EQ(second.said(), "met");
}

TEST(RuntimeMeeting, SilentConnectionsKeepNobodyWaiting) {
  const Rendezvous place = somewhere();
  std::vector<std::string> said;
  std::thread first([&] { said = meetAs({0}, 2, place); });
  std::vector<Socket> silent;
  for (const size_t bytes : {0, 0, 0, 5, 40})
    for (const int64_t end = soon(); rt::steadyNanoseconds() < end; pass(5))
      if (Socket one = rt::tcp::connectTo("127.0.0.1", place.port, soon()); one.isOpen()) {
        EXPECT_TRUE(one.sendAll(std::string(bytes, 'x').data(), bytes, soon()));
        silent.push_back(std::move(one));
        break;
      }
  const int64_t begin = rt::steadyNanoseconds();
  EXPECT_EQ(meetAs({1}, 2, place), std::vector<std::string>(1));
  first.join();
  EXPECT_EQ(said, std::vector<std::string>(1));
  EXPECT_LT(secondsSince(begin), 2);
}

TEST(RuntimeMeeting, WhoHasAnotherSecretOrNoneIsRefusedAtOnce) {
  const Rendezvous place = somewhere();
  const std::string secret = "a secret of some length", other = "a secret of other length";
  Process first(0, 2, place, {{"KEDGE_JOB_SECRET", secret}});
  const int64_t begin = rt::steadyNanoseconds();
  for (const auto &variables :
       {std::vector<std::pair<const char *, std::string>>{}, {{"KEDGE_JOB_SECRET", other}}}) {
    const std::string said = Process(1, 2, place, variables).said();
    EXPECT_NE(said.find("it has another secret, or one of both has none (KEDGE_JOB_SECRET)"),
              std::string::npos)
        << said;
  }
  EXPECT_LT(secondsSince(begin), 3);
  EXPECT_EQ(Process(1, 2, place, {{"KEDGE_JOB_SECRET", secret}}).said(), "met");
  EXPECT_EQ(first.said(), "met");
}

/// The hello of rank `rank` of `size`, from the process `process`.
Hello helloOf(int32_t rank, int32_t size, const Rendezvous &place, int32_t wanted, uint64_t process) {
  Hello hello;
  hello.job = 0xcbf29ce484222325ull;
  for (const char c : place.job)
    hello.job = (hello.job ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  hello.process = {process, process};
  hello.rank = rank;
  hello.size = size;
  hello.wanted = wanted;
  hello.place = static_cast<int32_t>(place.port);
  hello.port = 1;
  return hello;
}

TEST(RuntimeMeeting, ARankThatGoesMeanwhileEndsTheWait) {
  const Rendezvous place = somewhere();
  std::vector<std::string> said;
  std::thread first([&] { said = meetAs({0}, 3, place); });
  const int64_t begin = rt::steadyNanoseconds();
  for (const int64_t end = soon(); rt::steadyNanoseconds() < end; pass(5)) {
    const Socket one = rt::tcp::connectTo("127.0.0.1", place.port, soon());
    if (!one.isOpen())
      continue;
    EXPECT_EQ(rt::tcp::visit(one, helloOf(1, 3, place, 0, 7), {}, soon(), soon()), Visit::Welcome);
    break; // and closes it
  }
  first.join();
  EXPECT_NE(said[0].find("rank 1 is gone: its connection has ended; rank 0 was waiting for ranks 1, 2 of 3"),
            std::string::npos)
      << said[0];
  EXPECT_LT(secondsSince(begin), 5);
}

/// Numbers that no rank has, each in the hello of a process that knows the secret.
TEST(RuntimeMeeting, NumbersOfAHelloAreChecked) {
  const Rendezvous place = somewhere();
  std::vector<std::string> said;
  std::thread first([&] { said = meetAs({0}, 2, place); });
  pass(100);
  const auto expectRefused = [&](const char *what, auto &&change) {
    Hello hello = helloOf(1, 2, place, 0, 7);
    change(hello);
    const Socket one = rt::tcp::connectTo("127.0.0.1", place.port, soon());
    EXPECT_NE(rt::tcp::visit(one, hello, {}, soon(), soon()), Visit::Welcome) << what;
  };
  expectRefused("rank -1", [](Hello &hello) { hello.rank = -1; });
  expectRefused("rank 2", [](Hello &hello) { hello.rank = 2; });
  expectRefused("rank 0", [](Hello &hello) { hello.rank = 0; });
  expectRefused("rank 2^30", [](Hello &hello) { hello.rank = 1 << 30; });
  expectRefused("channel 2", [](Hello &hello) { hello.channel = 2; });
  expectRefused("channel -1", [](Hello &hello) { hello.channel = -1; });
  expectRefused("port 0", [](Hello &hello) { hello.port = 0; });
  expectRefused("port 65536", [](Hello &hello) { hello.port = 65536; });
  expectRefused("size -2", [](Hello &hello) { hello.size = -2; });
  expectRefused("other words", [](Hello &hello) { hello.magic[6] = '2'; });
  EXPECT_EQ(meetAs({1}, 2, place), std::vector<std::string>(1));
  first.join();
  EXPECT_EQ(said, std::vector<std::string>(1));
}

/// Rank 0 as this test plays it, for rank 1 of `size`.
class FirstRank {
public:
  FirstRank(const Rendezvous &place, int32_t size)
      : place(place), own(helloOf(0, size, place, 1, 3)), listening(rt::tcp::listenAt(place.port)) {}

  void welcomeBoth() {
    own.port = static_cast<int32_t>(place.port);
    for (int channel = 0; channel < 2; ++channel) {
      rt::tcp::Visitor visitor(rt::tcp::acceptFrom(listening, soon()), "127.0.0.1", own, soon());
      auto state = rt::tcp::Visitor::State::Waiting;
      while (state == rt::tcp::Visitor::State::Waiting)
        state = visitor.advance({});
      ASSERT_EQ(state, rt::tcp::Visitor::State::Proven);
      visitorsPort = visitor.hello().port;
      open.push_back(visitor.dismiss(GreetingVerdict::Welcome));
    }
  }

  const Rendezvous &place;
  Hello own;
  Socket listening;
  std::vector<Socket> open;
  int64_t visitorsPort = 0;
};

TEST(RuntimeMeeting, AddressesAreChecked) {
  for (const auto &[host, port] : std::vector<std::pair<std::string, int64_t>>{
           {std::string(64, '1'), 5}, {"no.address", 5}, {"127.0.0.1", 0}, {"127.0.0.1", 65536}, {"", -1}}) {
    const Rendezvous place = somewhere();
    FirstRank first(place, 3);
    std::vector<std::string> said;
    std::thread second([&] { said = meetAs({2}, 3, place); });
    first.own.wanted = 2;
    first.welcomeBoth();
    std::array<Address, 3> addresses{};
    host.copy(addresses[1].host, sizeof(addresses[1].host));
    addresses[1].port = port;
    EXPECT_TRUE(first.open[0].sendAll(addresses.data(), sizeof(addresses), soon()));
    second.join();
    EXPECT_NE(said[0].find("rank 0 told rank 2 no address of rank 1"), std::string::npos) << said[0];
  }
}

/// Who looks for rank 0 tries several ports, and one of them may be where another rank listens, or itself.
TEST(RuntimeMeeting, WhoLooksForTheFirstRankIsNoVisitorOfAnother) {
  const Rendezvous place = somewhere();
  FirstRank first(place, 3);
  std::string said;
  std::vector<Connection> met;
  std::thread second([&] {
    try {
      met = rt::tcp::meet({1, 3}, place, 20);
    } catch (const rt::RuntimeError &error) {
      said = error.what();
    }
  });
  first.welcomeBoth();
  const auto visit = [&](int32_t rank, int32_t channel, int32_t wanted, uint64_t process) {
    Hello mine = helloOf(rank, 3, place, wanted, process);
    mine.channel = channel;
    first.open.push_back(rt::tcp::connectTo("127.0.0.1", first.visitorsPort, soon()));
    return rt::tcp::visit(first.open.back(), mine, {}, soon(), soon());
  };
  const std::array<Address, 3> addresses{}; // rank 1 visits nobody else
  EXPECT_TRUE(first.open.front().sendAll(addresses.data(), sizeof(addresses), soon()));
  EXPECT_EQ(visit(2, 0, 0, 9), Visit::Stranger);
  for (const int32_t channel : {0, 1})
    EXPECT_EQ(visit(2, channel, 1, 9), Visit::Welcome);
  second.join();
  EXPECT_EQ(said, "");
  ASSERT_EQ(met.size(), 3u);
  const char word = 'k';
  char heard = 0;
  EXPECT_TRUE(first.open.back().sendAll(&word, 1, soon()) && met[2].data.receiveAll(&heard, 1, soon()));
  EXPECT_EQ(heard, word);
}

TEST(RuntimeMeeting, ListensNoFurtherThanNeeded) {
  Rendezvous place = somewhere();
  EXPECT_EQ(rt::tcp::ownAddressOf(rt::tcp::listenAsFirst(place, false)), "127.0.0.1");
  place.host = "no.such.host.invalid";
  place.allHere = true;
  EXPECT_EQ(rt::tcp::ownAddressOf(rt::tcp::listenAsFirst(place, false)), "127.0.0.1");
  EXPECT_EQ(rt::tcp::ownAddressOf(rt::tcp::listenAsFirst(place, true)), "127.0.0.1");
  place.allHere = false;
  const std::string all = rt::tcp::ownAddressOf(rt::tcp::listenAsFirst(place, true));
  EXPECT_TRUE(all == "::" || all == "0.0.0.0") << all;
  EXPECT_THROW(rt::tcp::listenAsFirst(place, false), rt::RuntimeError);
  const ScopedVariable interface("NCCL_SOCKET_IFNAME", "=lo");
  EXPECT_EQ(rt::tcp::ownAddressOf(rt::tcp::listenAsFirst(place, false)), "127.0.0.1");
}

TEST(RuntimeMeeting, InterfacesAsNcclNamesThem) {
  using rt::tcp::addressesOfInterfaces;
  const auto has = [](const std::string &names) {
    const auto found = addressesOfInterfaces(names);
    return std::find(found.begin(), found.end(), "127.0.0.1") != found.end();
  };
  EXPECT_TRUE(has("lo") && has("l") && has("=lo") && has("none,lo") && has("^none") && has("^=l"));
  EXPECT_FALSE(has("") || has("=l") || has("none") || has("^lo") || has("^l,none") || has("^=lo"));
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
