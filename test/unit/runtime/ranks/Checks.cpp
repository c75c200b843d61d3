// kedge-rank-checks CHECK MARKS: what every rank of a job of mpirun, or of torchrun, tries with the engine;
// exits 1 with a line that says what differed. Values are made from (seed, rank, tensor, element), so that
// each rank can compute what the others gave.
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/tcp/Connect.h"
#include "runtime/format/Convert.h"
#include "runtime/format/Float16.h"
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <unistd.h>

namespace {

using namespace kedge::rt;

double valueOf(int64_t seed, int64_t rank, size_t tensor, int64_t element) {
  const uint64_t mixed =
      static_cast<uint64_t>(seed * 7919 + rank * 104729 + static_cast<int64_t>(tensor) * 1299709 + element) *
      0x9e3779b97f4a7c15ull;
  return static_cast<double>(static_cast<int64_t>(mixed >> 40) - (1 << 23)) / (1 << 20);
}

struct Case {
  CollectiveKind kind;
  DType type;
  std::vector<int64_t> elements; ///< of whole tensors
  Reduction reduction = Reduction::Sum;
  bool background = false;
  std::string axis = Mesh::kData;
};

/// A collective with operands of its own.
class Bound {
public:
  Bound(Communicator &communicator, const Case &what, int64_t seed)
      : what(what), group(communicator.mesh().groupOf(what.axis, communicator.world().rank)),
        world(group.own), seed(seed) {
    LibraryCall call{
        names[static_cast<size_t>(what.kind)], {{"ranks", world.size}, {"axis", what.axis}}, {}, {}};
    if (what.reduction == Reduction::Max)
      call.attrs["kind"] = "max";
    for (int64_t n : what.elements) {
      const int64_t part = shardSize(n, world.size);
      const bool gathers = what.kind == CollectiveKind::AllGather,
                 scatters = what.kind == CollectiveKind::ReduceScatter;
      call.inputs.push_back({what.type, {gathers ? part : n}});
      call.outputs.push_back({what.type, {scatters ? part : n}});
    }
    kernel = makeKernel(call, 1);
    for (const TensorDesc &desc : call.inputs)
      inputs.emplace_back(desc.bytes() + 1, '\x7f');
    for (const TensorDesc &desc : call.outputs)
      outputs.emplace_back(desc.bytes() + 1, '\x55');
    workspace.resize(kernel->workspaceBytes() + 64, '\x33');
    std::vector<const void *> from;
    std::vector<void *> to;
    for (auto &bytes : inputs)
      from.push_back(bytes.data());
    for (auto &bytes : outputs)
      to.push_back(bytes.data());
    void *aligned = workspace.data();
    size_t room = workspace.size();
    std::align(64, kernel->workspaceBytes(), aligned, room);
    run = dynamic_cast<CollectiveKernel &>(*kernel).bind(communicator, from.data(), to.data(), aligned,
                                                         what.background, "a check");
    fillInputs();
  }

  void fillInputs() {
    for (size_t t = 0; t < inputs.size(); ++t) {
      const bool gathers = what.kind == CollectiveKind::AllGather;
      const ElementRange own = localShardOf(what.elements[t], world.rank, world.size);
      const int64_t count = gathers ? shardSize(what.elements[t], world.size) : what.elements[t];
      for (int64_t i = 0; i < count; ++i) // padding is 1000: it must come nowhere
        storeDouble(what.type, inputs[t].data(), i,
                    gathers ? (i < own.count ? valueOf(seed, 0, t, own.first + i) : 1000)
                            : valueOf(seed, group.members[static_cast<size_t>(world.rank)], t, i));
    }
  }

  /// Ends the process where a result differs.
  void check() {
    for (size_t t = 0; t < outputs.size(); ++t) {
      const bool scatters = what.kind == CollectiveKind::ReduceScatter;
      const ElementRange own = localShardOf(what.elements[t], world.rank, world.size);
      const int64_t count = scatters ? shardSize(what.elements[t], world.size) : what.elements[t];
      for (int64_t i = 0; i < count; ++i) {
        double wanted = 0;
        if (!scatters || i < own.count)
          wanted = expected(t, scatters ? own.first + i : i);
        const double found = loadAsDouble(what.type, outputs[t].data(), i);
        if (found != wanted && !(std::isnan(found) && std::isnan(wanted))) {
          fmt::print(stderr, "rank {}: tensor {} of {}, element {}: {} instead of {}\n", world.rank, t,
                     names[static_cast<size_t>(what.kind)], i, found, wanted);
          _exit(1);
        }
      }
      if (outputs[t].back() != '\x55') {
        fmt::print(stderr, "rank {}: tensor {} is overrun\n", world.rank, t);
        _exit(1);
      }
    }
  }

  std::unique_ptr<CollectiveRun> run;
  std::vector<std::vector<char>> inputs, outputs;

private:
  static constexpr const char *names[] = {"dist.reduce_scatter", "dist.all_gather", "dist.all_reduce"};

  /// In rank order, rounded once.
  double expected(size_t t, int64_t element) const {
    char place[8];
    const auto given = [&](int64_t rank) {
      storeDouble(what.type, place, 0, valueOf(seed, rank, t, element));
      return loadAsDouble(what.type, place, 0);
    };
    if (what.kind == CollectiveKind::AllGather)
      return given(0);
    const bool narrow = what.type == DType::F32 || what.type == DType::F16 || what.type == DType::BF16;
    double sum = given(group.members.front());
    for (int64_t rank = 1; rank < world.size; ++rank) {
      const double next = given(group.members[static_cast<size_t>(rank)]);
      if (what.reduction == Reduction::Max)
        sum = std::max(sum, next);
      else
        sum = narrow ? static_cast<double>(static_cast<float>(sum) + static_cast<float>(next)) : sum + next;
    }
    storeDouble(what.type, place, 0, sum);
    return loadAsDouble(what.type, place, 0);
  }

  Case what;
  GroupMembers group;
  World world; ///< in the group
  int64_t seed;
  std::unique_ptr<LibraryKernel> kernel;
  std::vector<char> workspace;
};

/// One element, fewer than ranks, primes, several in one, small beside large, larger than a message.
const std::vector<std::vector<int64_t>> kSizes{{1},          {2},       {7919},          {0},
                                               {1, 1, 2, 3}, {3, 7919}, {5, 70001, 4, 1}};
const std::vector<int64_t> kLarge{65537, 17, 300007, 2, 2};

void checkEveryCollective(Communicator &communicator) {
  int64_t seed = 0;
  for (CollectiveKind kind :
       {CollectiveKind::ReduceScatter, CollectiveKind::AllGather, CollectiveKind::AllReduce})
    for (DType type : {DType::F32, DType::F64, DType::F16, DType::BF16})
      for (const auto &sizes : kSizes) {
        Bound bound(communicator, {kind, type, sizes}, ++seed);
        for (int again = 0; again < 2; ++again) {
          bound.run->start();
          bound.run->wait();
          bound.check();
        }
      }
  for (CollectiveKind kind :
       {CollectiveKind::ReduceScatter, CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
    Bound large(communicator, {kind, DType::F32, kLarge}, ++seed);
    large.run->start();
    large.run->wait();
    large.check();
  }
  Bound maximum(communicator, {CollectiveKind::AllReduce, DType::F32, {9, 1}, Reduction::Max}, ++seed);
  maximum.run->start();
  maximum.run->wait();
  maximum.check();
}

/// Tensors of one byte and of several messages, sent round, to several, to nobody, to oneself.
void checkTransfers(Communicator &communicator) {
  const World world = communicator.world();
  const int64_t next = (world.rank + 1) % world.size;
  std::vector<int64_t> round, mixed(static_cast<size_t>(world.size), 0);
  for (int64_t rank = 0; rank < world.size; ++rank)
    round.push_back((rank + 1) % world.size);
  mixed.back() = Collective::kNobody;
  const std::vector<size_t> sizes{1, 0, 9'000'011};
  const auto check = [&](const char *name, const nlohmann::json &how, int64_t sender) {
    LibraryCall call{name, how, {}, {}};
    call.attrs["ranks"] = world.size;
    std::vector<std::string> given, got;
    std::vector<const void *> from;
    std::vector<void *> to;
    for (const size_t size : sizes) {
      call.inputs.push_back({DType::U8, {static_cast<int64_t>(size)}});
      given.emplace_back(size, static_cast<char>('a' + world.rank));
      got.emplace_back(size + 1, '?');
    }
    call.outputs = call.inputs;
    for (size_t i = 0; i < sizes.size(); ++i) {
      from.push_back(given[i].data());
      to.push_back(got[i].data());
    }
    const auto kernel = makeKernel(call, 1);
    auto run = dynamic_cast<CollectiveKernel &>(*kernel).bind(communicator, from.data(), to.data(), nullptr,
                                                              false, "");
    for (int again = 0; again < 2; ++again) {
      run->start();
      run->wait();
    }
    for (size_t i = 0; i < sizes.size(); ++i)
      if (got[i] !=
          std::string(sizes[i], sender == Collective::kNobody ? '\0' : static_cast<char>('a' + sender)) + '?')
        fail("{} {} brought rank {} other bytes than those of rank {}", name, how.dump(), world.rank, sender);
  };
  check("dist.send_recv", {{"from", round}}, next);
  check("dist.send_recv", {{"from", mixed}}, mixed[static_cast<size_t>(world.rank)]);
  check("dist.broadcast", {{"root", world.size - 1}}, world.size - 1);
}

/// Stages of a pipeline: each takes micro-batches from the one before and passes them on, small and large
/// ones in turn, while others are under way.
void checkStages(Communicator &communicator) {
  const Mesh before = communicator.mesh();
  const World world = communicator.world();
  communicator.arrange(Mesh::parse(fmt::format("pipeline={}", world.size)));
  constexpr int64_t kMicros = 4;
  std::vector<std::string> values;
  std::vector<std::unique_ptr<CollectiveRun>> sent;
  int64_t token = 0;
  const auto transfer = [&](std::string &value, int64_t peer, bool sends, int64_t number) {
    const TensorDesc desc{DType::U8, {static_cast<int64_t>(value.size())}}, ofToken{DType::I64, {}};
    LibraryCall call{sends ? "dist.send" : "dist.receive", {{"ranks", world.size}}, {}, {}};
    call.attrs.update(
        {{"axis", "pipeline"}, {"peer", peer}, {"number", number}, {"micro", number % kMicros}});
    call.inputs = sends ? std::vector{desc, ofToken} : std::vector{ofToken};
    call.outputs = sends ? std::vector{ofToken} : std::vector{desc, ofToken};
    const void *given[] = {sends ? value.data() : reinterpret_cast<char *>(&token), &token};
    void *taken[] = {sends ? reinterpret_cast<char *>(&token) : value.data(), &token};
    const auto kernel = makeKernel(call, 1);
    auto run = dynamic_cast<CollectiveKernel &>(*kernel).bind(communicator, given, taken, nullptr, true, "");
    run->start();
    return run;
  };
  for (int64_t micro = 0; micro < kMicros; ++micro)
    values.emplace_back(micro % 2 == 0 ? 3 : 5'000'003,
                        world.isFirst() ? static_cast<char>('a' + micro) : '?');
  for (int64_t micro = 0; micro < kMicros; ++micro) {
    const int64_t number = world.rank * kMicros + micro;
    std::string &value = values[static_cast<size_t>(micro)];
    if (!world.isFirst())
      transfer(value, world.rank - 1, false, number - kMicros)->wait();
    if (world.rank + 1 < world.size)
      sent.push_back(transfer(value, world.rank + 1, true, number));
  }
  for (const auto &run : sent)
    run->wait();
  for (int64_t micro = 0; micro < kMicros; ++micro)
    if (const std::string &value = values[static_cast<size_t>(micro)];
        value != std::string(value.size(), static_cast<char>('a' + micro)))
      fail("micro-batch {} came to rank {} with other bytes than the first stage's", micro, world.rank);
  communicator.arrange(before);
}

/// Exactly, beyond what a double holds.
void checkIntegers(Communicator &communicator) {
  const World world = communicator.world();
  const int64_t base = (int64_t(1) << 60) + 1;
  LibraryCall call{"dist.all_reduce", {{"ranks", world.size}}, {{DType::I64, {}}}, {{DType::I64, {}}}};
  const auto kernel = makeKernel(call, 1);
  std::vector<char> workspace(kernel->workspaceBytes());
  const int64_t mine = base + world.rank;
  int64_t sum = 0, wanted = 0;
  const void *in = &mine;
  void *out = &sum;
  auto run =
      dynamic_cast<CollectiveKernel &>(*kernel).bind(communicator, &in, &out, workspace.data(), false, "");
  run->start();
  run->wait();
  for (int64_t rank = 0; rank < world.size; ++rank)
    wanted += base + rank;
  if (sum != wanted)
    fail("integers sum to {}, expected {}", sum, wanted);
}

/// A NaN of any rank reaches all.
void checkNan(Communicator &communicator) {
  for (int64_t from = 0; from < communicator.world().size; ++from) {
    Bound bound(communicator, {CollectiveKind::AllReduce, DType::F32, {1}, Reduction::Max}, 3);
    if (communicator.world().rank == from)
      storeDouble(DType::F32, bound.inputs[0].data(), 0, std::numeric_limits<double>::quiet_NaN());
    bound.run->start();
    bound.run->wait();
    if (!std::isnan(loadAsDouble(DType::F32, bound.outputs[0].data(), 0)))
      fail("the NaN of rank {} was lost", from);
  }
}

/// 1 + 2^-8 + 2^-8: rounded to bf16 after each addition this stays 1, rounded once it is 1 + 2^-7.
void checkOneRounding(Communicator &communicator) {
  const World world = communicator.world();
  if (world.size < 3)
    return;
  Bound bound(communicator, {CollectiveKind::ReduceScatter, DType::BF16, {world.size}}, 1);
  for (int64_t i = 0; i < world.size; ++i)
    storeDouble(DType::BF16, bound.inputs[0].data(), i, world.rank == 0 ? 1 : world.rank < 3 ? 0x1p-8 : 0);
  bound.run->start();
  bound.run->wait();
  if (const double found = loadAsDouble(DType::BF16, bound.outputs[0].data(), 0); found != 1 + 0x1p-7)
    fail("bf16 was rounded more than once: {}", found);
}

/// A background collective under way while others of the foreground come and go, several times.
void checkSeveralInFlight(Communicator &communicator) {
  Bound large(communicator, {CollectiveKind::ReduceScatter, DType::F32, {500017}, Reduction::Sum, true}, 1);
  Bound next(communicator, {CollectiveKind::AllGather, DType::BF16, {200003, 5}, Reduction::Sum, true}, 2);
  Bound small(communicator, {CollectiveKind::AllReduce, DType::F32, {3}}, 3);
  for (int again = 0; again < 5; ++again) {
    large.run->start();
    next.run->start();
    for (int i = 0; i < 3; ++i) {
      small.run->start();
      small.run->wait();
      small.check();
    }
    const TimeSpan second = next.run->wait(), first = large.run->wait();
    large.check();
    next.check();
    if (second.begin < first.end)
      fail("background collectives ran side by side");
  }
}

/// Groups of a mesh one after the other and at the same time, some more often than others: none takes what is
/// another's.
void checkGroups(Communicator &communicator) {
  if (communicator.world().size != 4 && communicator.world().size != 6)
    return;
  const Mesh before = communicator.mesh();
  const int64_t data = communicator.world().size / 2;
  communicator.arrange(Mesh::parse(fmt::format("replica=2,data={}", data)));
  const bool firstCopy = communicator.world().rank < data;
  Bound large(communicator,
              {CollectiveKind::ReduceScatter, DType::F32, {300007}, Reduction::Sum, true, "data"}, 1);
  Bound copies(communicator,
               {CollectiveKind::AllGather, DType::BF16, {70001, 3}, Reduction::Sum, true, "replica"}, 2);
  Bound all(communicator, {CollectiveKind::AllReduce, DType::F32, {3}, Reduction::Sum, false, "replica,data"},
            3);
  Bound maximum(communicator, {CollectiveKind::AllReduce, DType::F32, {5}, Reduction::Max, false, "replica"},
                4);
  Bound own(communicator, {CollectiveKind::AllReduce, DType::F64, {2}, Reduction::Sum, false, "data"}, 5);
  for (int again = 0; again < 5; ++again) {
    large.run->start();
    copies.run->start();
    for (int more = 0; more < (firstCopy ? 3 : 1); ++more) { // the other copy's ranks do not wait for these
      own.run->start();
      own.run->wait();
      own.check();
    }
    for (Bound *small : {&maximum, &all}) {
      small->run->start();
      small->run->wait();
      small->check();
    }
    copies.run->wait();
    large.run->wait();
    large.check();
    copies.check();
  }
  communicator.arrange(before);
}

void checkHostCalls(Communicator &communicator) {
  const World world = communicator.world();
  double values[] = {static_cast<double>(world.rank), 1};
  sumOverRanks(&communicator, values, 2);
  const double size = static_cast<double>(world.size);
  if (values[0] != size * (size - 1) / 2 || values[1] != size)
    fail("sums over ranks are {} and {}", values[0], values[1]);
  if (maxOverRanks(&communicator, world.rank * 3) != (world.size - 1) * 3)
    fail("not the largest of all ranks");
  std::vector<char> bytes(5'000'011, static_cast<char>(world.rank + 1));
  communicator.broadcast(bytes.data(), bytes.size());
  if (bytes.front() != 1 || bytes.back() != 1)
    fail("a broadcast of rank 0's bytes brought others");
  for (int64_t from = 1; from < world.size; ++from) {
    bytes.assign(bytes.size(), static_cast<char>(world.rank + 1));
    std::vector<char> got(bytes.size());
    communicator.sendToFirst(from, bytes.data(), got.data(), bytes.size());
    if (world.rank == 0 && (got.front() != from + 1 || got.back() != from + 1))
      fail("rank 0 did not get the bytes of rank {}", from);
  }
  communicator.barrier();
}

/// Waits until every other rank has said that it is in the collective: `marks`.0, `marks`.1, ...
void awaitOthers(const World &world, const std::string &marks) {
  for (int64_t rank = 0; rank < world.size - 1; ++rank)
    while (access(fmt::format("{}.{}", marks, rank).c_str(), F_OK) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Rank 3 goes, for which rank 1 waits along replica and rank 2 along data; rank 0 comes to a barrier.
void loseOfMesh(Communicator &communicator, const std::string &marks) {
  communicator.arrange(Mesh::parse("replica=2,data=2"));
  const World world = communicator.world();
  communicator.barrier();
  if (world.rank == world.size - 1) {
    awaitOthers(world, marks);
    raise(SIGKILL);
  }
  Bound bound(communicator,
              {CollectiveKind::ReduceScatter,
               DType::F32,
               {1000},
               Reduction::Sum,
               false,
               world.rank == 1 ? "replica" : "data"},
              1);
  std::ofstream(fmt::format("{}.{}", marks, world.rank));
  if (world.rank == 0)
    communicator.barrier();
  bound.run->start();
  bound.run->wait();
  fail("the collective ended without the rank that is gone");
}

/// One rank goes, in one way or another, while the others wait for it in a collective.
void lose(Communicator &communicator, const std::string &how, const std::string &marks) {
  const World world = communicator.world();
  communicator.barrier();
  if (world.rank == world.size - 1) {
    awaitOthers(world, marks);
    if (how == "kill")
      raise(SIGKILL);
    if (how == "stop")
      raise(SIGSTOP);
    if (how == "leave")
      _exit(0);
    fail("the disk is full");
  }
  Bound bound(communicator, {CollectiveKind::ReduceScatter, DType::F32, {1000}}, 1);
  bound.run->start();
  std::ofstream(fmt::format("{}.{}", marks, world.rank));
  bound.run->wait();
  fail("the collective ended without the rank that is gone");
}

/// Nobody communicates for longer than the time-out; heartbeats go on.
void pause(Communicator &communicator) {
  if (communicator.world().rank == 0)
    std::this_thread::sleep_for(std::chrono::seconds(3));
  communicator.barrier();
}

void runCheck(Communicator &communicator, const std::string &check, const std::string &marks) {
  if (check == "collectives") {
    checkEveryCollective(communicator);
    checkTransfers(communicator);
    checkStages(communicator);
    checkIntegers(communicator);
    checkNan(communicator);
    checkOneRounding(communicator);
    checkSeveralInFlight(communicator);
    checkGroups(communicator);
    checkHostCalls(communicator);
  } else if (check == "mesh") {
    loseOfMesh(communicator, marks);
  } else if (check == "pause") {
    pause(communicator);
  } else {
    lose(communicator, check, marks);
  }
}

} // namespace

int main(int, char **argv) {
  std::unique_ptr<Communicator> communicator;
  try {
    const Launched launched = launchedAs(true);
    communicator = launched.meeting ? connectByTcp(launched.world, *launched.meeting, 1.5)
                                    : connectByMpi(launched.world, 1.5);
    runCheck(*communicator, argv[1], argv[2]);
    const bool first = communicator->world().isFirst();
    communicator->close();
    if (first)
      fmt::print("all is well\n");
    return 0;
  } catch (const Stopped &) {
  } catch (const std::exception &error) {
    if (communicator)
      communicator->announce(error.what());
    else
      fmt::print(stderr, "kedge: error: {}\n", error.what());
  }
  std::fflush(nullptr);
  _exit(1);
}
