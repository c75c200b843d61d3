#include "runtime/cuda/library/NcclRanks.h"
#include "runtime/comm/CollectiveKernel.h"
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fmt/ranges.h>
#include <fstream>
#include <set>
#include <thread>

namespace kedge::rt::cuda {
namespace {

constexpr std::chrono::microseconds kNcclNap{50};
constexpr std::chrono::seconds kLeaving{10};
constexpr int32_t kNone = -1;
/// A small and a large collective: NCCL then has the memory of both of its ways.
constexpr size_t kWarmUps[] = {1, size_t(1) << 18};

/// What tells one machine from another, whatever container a process is in.
uint64_t hostHash() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  return std::hash<std::string>()(text);
}

/// Where a rank computes.
struct Seat {
  uint64_t host = 0;
  std::array<char, 24> bus{};
};

} // namespace

NcclRanks::NcclRanks(Gpu &gpu, const Program &program, Communicator &ranks) : gpu(gpu), ranks(ranks) {
  if (!mayShareGpus())
    refuseSharedGpus();
  nameCollectives(program);
  const uint64_t before = gpu.memory().free;
  join();
  gpu.setWatch(this);
  split(program);
  for (const auto &[axes, group] : groups)
    warmUp(group);
  connectPeers(program);
  const uint64_t after = gpu.memory().free;
  taken = before > after ? before - after : 0;
}

NcclRanks::~NcclRanks() {
  if (!leave())
    for (const auto &[axes, group] : groups)
      if (group.handle)
        nccl.commAbort(group.handle);
  gpu.setWatch(nullptr);
}

/// --shared-gpu sets it as well.
bool NcclRanks::mayShareGpus() {
  const char *value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return value && std::strcmp(value, "1") == 0;
}

void NcclRanks::refuseSharedGpus() const {
  const World world = ranks.world();
  Seat own;
  own.host = hostHash();
  std::strncpy(own.bus.data(), gpu.bus().c_str(), own.bus.size() - 1);
  std::vector<Seat> seats(static_cast<size_t>(world.size));
  ranks.exchange(&own, sizeof(own), seats.data());
  for (size_t a = 0; a < seats.size(); ++a)
    for (size_t b = a + 1; b < seats.size(); ++b)
      if (seats[a].host == seats[b].host && seats[a].bus == seats[b].bus)
        throw AgreedError(fmt::format(
            "ranks {} and {} both have the GPU {} of one machine, and NCCL takes one rank a GPU; start "
            "as many ranks on a machine as it has GPUs (rank 0 sees {}), give each its own by "
            "CUDA_VISIBLE_DEVICES, or, for a test, let them share one by --shared-gpu",
            a, b, seats[a].bus.data(), gpu.devices()));
}

std::string NcclRanks::nameOf(const std::string &function, const Launch &launch) const {
  const int64_t rank = world().rank;
  std::string text = launch.library;
  if (launch.attrs.is_object() && launch.attrs.contains("micro"))
    text += fmt::format(" of micro-batch {}", launch.attrs["micro"].get<int64_t>());
  text += " at " + (launch.loc.empty() ? "@" + function : launch.loc + " in @" + function);
  const std::string axes = axisOf(launch.attrs);
  if (isPeerTransfer(launch.library)) {
    const PeerTransfer peer =
        *collectiveOf({launch.library, launch.attrs, launch.inputs, launch.outputs}).peer;
    text += fmt::format(" (transfer {} {} rank {})", peer.number, peer.sends ? "to" : "from",
                        ranks.mesh().groupOf(axes, rank).members[static_cast<size_t>(peer.rank)]);
  } else if (ranks.mesh().numberOf(axes) != 0) {
    text +=
        fmt::format(" along {} (ranks {})", axes, fmt::join(ranks.mesh().groupOf(axes, rank).members, ", "));
  }
  return text;
}

void NcclRanks::nameCollectives(const Program &program) {
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      if (isOfRanks(launch.stream)) {
        numbers[&launch] = static_cast<int32_t>(names.size());
        names.push_back(nameOf(name, launch));
      }
  const size_t bytes = std::max<size_t>(names.size(), 1) * sizeof(int32_t);
  table = gpu.allocate(bytes, "the numbers of collectives");
  std::vector<int32_t> values(names.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i);
  current = reinterpret_cast<volatile int32_t *>(gpu.allocatePinned(sizeof(int32_t)));
  *current = kNone;
  if (!values.empty())
    gpu.driver().check(gpu.driver().memcpyHtoDAsync(table, values.data(), bytes, gpu.stream()),
                       "a copy to the GPU failed");
  gpu.synchronize();
}

void NcclRanks::join() {
  nccl::Id id;
  if (ranks.world().isFirst())
    nccl.check(nccl.getUniqueId(&id), "no group of ranks can be made", nullptr);
  ranks.broadcast(&id, sizeof(id));
  nccl::Config config;
  const World world = ranks.world();
  ranks.noteWait("NCCL's making of the group");
  NcclGroup &group = groups[""];
  group.own = world;
  const nccl::Status status = nccl.commInitRankConfig(&group.handle, static_cast<int>(world.size), id,
                                                      static_cast<int>(world.rank), &config);
  settle(status, group.handle,
         mayShareGpus() ? "the ranks cannot be joined (NCCL before 2.30 may know no ranks that share a GPU)"
                        : "the ranks cannot be joined");
  ranks.noteWait(nullptr);
}

namespace {

/// Collectives run on the stream of ranks or, where nothing can run beside them, on that of kernels.
bool isSent(const Launch &launch) {
  return launch.library.starts_with("dist.") && launch.library != "dist.local_shard";
}

} // namespace

void NcclRanks::split(const Program &program) {
  const Mesh mesh = ranks.mesh();
  std::set<std::string> wanted;
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      if (isSent(launch) && mesh.numberOf(axisOf(launch.attrs)) != 0)
        wanted.insert(axisOf(launch.attrs));
  ranks.noteWait("NCCL's making of the groups of the mesh");
  for (const std::string &axes : wanted) { // in one order on all ranks
    const GroupMembers members = mesh.groupOf(axes, world().rank);
    NcclGroup &group = groups[axes];
    group.own = members.own;
    nccl::Config config;
    const nccl::Status status = nccl.commSplit(all().handle, static_cast<int>(members.members.front()),
                                               static_cast<int>(members.own.rank), &group.handle, &config);
    awaitSplit(status, group);
  }
  ranks.noteWait(nullptr);
}

/// NCCL fills the new handle when the group that is split has settled (NVIDIA/nccl issue 1472), and the call
/// may say success before that.
void NcclRanks::awaitSplit(nccl::Status status, NcclGroup &group) {
  const char *what = "the ranks cannot be split into groups";
  expect(status, all().handle, what);
  do
    settle(nccl::Status::InProgress, all().handle, what);
  while (!std::atomic_ref(group.handle).load());
  settle(nccl::Status::InProgress, group.handle, what);
}

const NcclGroup &NcclRanks::groupOf(const Launch &launch) const {
  const std::string axes = axisOf(launch.attrs);
  const auto found = groups.find(axes);
  if (found != groups.end())
    return found->second;
  if (ranks.mesh().numberOf(axes) != 0)
    fail("the program is damaged: {} at {} is along {}, and no group was made of it", launch.library,
         launch.loc, axes);
  return all();
}

/// What NCCL allocates with its first collectives it shall have before the first step, and in the report.
void NcclRanks::warmUp(const NcclGroup &group) {
  using namespace nccl;
  const char *what = "the first collective";
  const Handle handle = group.handle;
  const size_t size = static_cast<size_t>(group.own.size), most = kWarmUps[1];
  const CUdeviceptr whole = gpu.allocate(size * most * sizeof(float), "NCCL's first collectives");
  const CUdeviceptr part = gpu.allocate(most * sizeof(float), "NCCL's first collectives");
  auto *all = reinterpret_cast<void *>(whole), *own = reinterpret_cast<void *>(part);
  for (const size_t count : kWarmUps) {
    const auto first = [&](auto call) { together(handle, what, [&] { expect(call(), handle, what); }); };
    first([&] {
      return nccl.allReduce(own, own, count, Type::Float32, nccl::Operation::Sum, handle, gpu.stream());
    });
    first([&] {
      return nccl.reduceScatter(all, own, count, Type::Float32, nccl::Operation::Sum, handle, gpu.stream());
    });
    first([&] { return nccl.allGather(own, all, count, Type::Float32, handle, gpu.stream()); });
  }
  gpu.synchronize();
  gpu.release(whole);
  gpu.release(part);
}

void NcclRanks::connectPeers(const Program &program) {
  std::map<const NcclGroup *, std::set<std::pair<int, bool>>> peers; // with `sends`
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      if (isPeerTransfer(launch.library)) {
        const PeerTransfer peer =
            *collectiveOf({launch.library, launch.attrs, launch.inputs, launch.outputs}).peer;
        peers[&groupOf(launch)].emplace(static_cast<int>(peer.rank), peer.sends);
      }
  const char *what = "the first transfer";
  const CUdeviceptr sent = gpu.allocate(1, what), received = gpu.allocate(1, what);
  for (const auto &[group, list] : peers)
    together(group->handle, what, [&, group = group, &list = list] {
      for (const auto &[rank, sends] : list)
        expect(sends ? nccl.send(reinterpret_cast<void *>(sent), 1, nccl::Type::Uint8, rank, group->handle,
                                 gpu.stream())
                     : nccl.receive(reinterpret_cast<void *>(received), 1, nccl::Type::Uint8, rank,
                                    group->handle, gpu.stream()),
               group->handle, what);
    });
  gpu.synchronize();
  gpu.release(sent);
  gpu.release(received);
}

void NcclRanks::settle(nccl::Status status, nccl::Handle group, const char *what) {
  while (status == nccl::Status::InProgress) {
    ranks.check();
    std::this_thread::sleep_for(kNcclNap);
    if (nccl.commGetAsyncError(group, &status) != nccl::Status::Success)
      break;
  }
  nccl.check(status, what, group);
}

void NcclRanks::expect(nccl::Status status, nccl::Handle group, const char *what) const {
  if (status != nccl::Status::InProgress)
    nccl.check(status, what, group);
}

void NcclRanks::together(nccl::Handle group, const char *what, const std::function<void()> &calls) {
  nccl.check(nccl.groupStart(), what, group);
  try {
    calls();
  } catch (...) {
    nccl.groupEnd(); // gives the same error again
    throw;
  }
  settle(nccl.groupEnd(), group, what);
}

void NcclRanks::enqueue(const Launch &launch, const NcclGroup &group, CUstream stream,
                        const std::function<void()> &calls) {
  const auto number = numbers.find(&launch);
  if (number != numbers.end())
    gpu.driver().check(
        gpu.driver().memcpyDtoHAsync(const_cast<int32_t *>(current),
                                     table + static_cast<size_t>(number->second) * sizeof(int32_t),
                                     sizeof(int32_t), stream),
        "the number of a collective cannot be copied from the GPU");
  together(group.handle, "a collective does not start", calls);
}

void NcclRanks::look() {
  const int32_t number = *current;
  const char *name =
      number == kNone ? "NCCL's first collectives" : names[static_cast<size_t>(number)].c_str();
  ranks.noteWait(name);
  ranks.check();
  for (const auto &[axes, group] : groups) {
    nccl::Status status = nccl::Status::Success;
    if (!group.handle) // being made
      continue;
    nccl.check(nccl.commGetAsyncError(group.handle, &status), "the group of ranks cannot be asked",
               group.handle);
    expect(status, group.handle, name);
  }
}

void NcclRanks::registerArena(CUdeviceptr arena, uint64_t bytes) {
  if (!nccl.commRegister || !nccl.commDeregister)
    return;
  for (const auto &[axes, group] : groups)
    if (void *handle = nullptr; nccl.commRegister(group.handle, reinterpret_cast<void *>(arena), bytes,
                                                  &handle) == nccl::Status::Success)
      registered.emplace_back(group.handle, handle);
}

/// Whether it went well. Every rank comes here, unless it has failed.
bool NcclRanks::leave() {
  if (std::uncaught_exceptions() != 0)
    return false;
  try {
    if (gpu.waitForStream() != CUDA_SUCCESS) // the last step's end
      return false;
    for (const auto &[group, handle] : registered)
      nccl.commDeregister(group, handle);
    for (auto group = groups.rbegin(); group != groups.rend();
         ++group) { // all ranks' last: the others were split from it
      if (group->second.handle && !leave(group->second.handle))
        return false;
      group->second.handle = nullptr;
    }
    return true;
  } catch (const RuntimeError &) {
    return false;
  }
}

bool NcclRanks::leave(nccl::Handle group) {
  nccl::Status status = nccl.commFinalize(group);
  for (const auto end = std::chrono::steady_clock::now() + kLeaving; status == nccl::Status::InProgress;) {
    ranks.check();
    std::this_thread::sleep_for(kNcclNap);
    if (std::chrono::steady_clock::now() > end ||
        nccl.commGetAsyncError(group, &status) != nccl::Status::Success)
      return false;
  }
  return status == nccl::Status::Success && nccl.commDestroy(group) == nccl::Status::Success;
}

nlohmann::json NcclRanks::figures() const {
  return {{"library", nccl.name()},
          {"version", nccl.version()},
          {"ranks", world().size},
          {"arena_registered", !registered.empty()}};
}

} // namespace kedge::rt::cuda
