// libnccl.so.2 as tests have it: ranks are processes of one machine and meet in a file of shared memory; sums
// are made from the last rank to the first, rounded at each. Groups do not block: what is asked is accepted a
// call later, and who asks more before that is stopped. A group neither leaves nor is aborted while there are
// graphs with calls of it.
//   KEDGE_STUB_NCCL_VERSION (22809)
//   KEDGE_STUB_NCCL_PATIENCE (20): seconds until ranks whose messages wait in a circle are stopped
//   KEDGE_STUB_NCCL_LOST=N: the GPU never comes through its N-th call; whoever asks is told of
//   ncclRemoteError
#include "test/unit/cuda/stubs/NcclSums.h"
#include "test/unit/cuda/stubs/Stub.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cuda.h>
#include <memory>
#include <nccl.h>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

using namespace kedge::stub;

namespace {

constexpr int kMostRanks = 8;
constexpr size_t kSlot = size_t(1) << 18;

/// One call, as every rank is to make it.
struct Call {
  const char *name = "";
  int kind = 0;
  const void *from = nullptr;
  void *to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t op = ncclSum;
  int root = 0;
};
enum Kind : int { AllReduce, Reduce, Broadcast, ReduceScatter, AllGather, Send, Receive };

/// What is on its way from one rank to another; `count` and `type` are the whole message's.
struct Mail {
  std::atomic<uint64_t> sent, taken;
  size_t count;
  int type;
  char bytes[size_t(1) << 14];
};

struct Shared {
  std::atomic<uint32_t> attached;
  std::atomic<uint64_t> arrived[kMostRanks];
  std::atomic<uint32_t> split[kMostRanks],
      counted[kMostRanks]; ///< by rank: splits that it has begun, and whose colors it has read
  std::atomic<int> colors[kMostRanks];
  struct Facts {
    int kind, type, op, root;
    size_t count;
    bool operator==(const Facts &) const = default;
  } facts[kMostRanks];
  std::atomic<int> waits[kMostRanks];
  char slots[kMostRanks][kSlot];
  Mail mail[kMostRanks][kMostRanks]; ///< by sender and receiver
};

[[noreturn]] void stop(const char *why) {
  std::fprintf(stderr, "stub NCCL: %s\n", why);
  std::abort();
}

} // namespace

struct ncclComm {
  int ranks = 0, rank = 0;
  Shared *shared = nullptr;
  std::string path;
  bool joined = false;
  uint32_t splits = 0;
  ncclComm **child = nullptr; ///< where the group that was split off goes once this one has settled
  ncclComm *made = nullptr;
  int unsettled = 0; ///< polls until what was asked last is accepted
  bool leaving = false;
  std::atomic<bool> aborted{false}, lost{false};
  std::atomic<int> recorded{0}; ///< groups of calls that graphs hold
  int64_t performed = 0;
  uint64_t barriers = 0; ///< of the thread that works

  bool meet() {
    shared->arrived[rank] = ++barriers;
    for (int other = 0; other < ranks; ++other)
      while (shared->arrived[other] < barriers) {
        if (aborted)
          return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    return true;
  }

  /// The sum of what all gave of a chunk.
  void sum(const Call &call, char *into, size_t begin, size_t bytes) const {
    std::memcpy(into, shared->slots[ranks - 1] + begin, bytes);
    for (int other = ranks - 1; other-- > 0;)
      reduceAs(call.type, call.op, shared->slots[other] + begin, into, bytes);
  }

  void take(const Call &call, size_t offset, size_t bytes) const {
    auto *to = static_cast<char *>(call.to);
    const size_t size = call.count * sizeOf(call.type);
    if (call.kind == AllReduce || (call.kind == Reduce && call.root == rank))
      sum(call, to + offset, 0, bytes);
    if (call.kind == Broadcast)
      std::memcpy(to + offset, shared->slots[call.root], bytes);
    if (call.kind == AllGather)
      for (int other = 0; other < ranks; ++other)
        std::memcpy(to + static_cast<size_t>(other) * size + offset, shared->slots[other], bytes);
    if (call.kind == ReduceScatter) {
      const size_t first = static_cast<size_t>(rank) * size, begin = std::max(first, offset),
                   end = std::min(first + size, offset + bytes);
      if (begin < end)
        sum(call, to + (begin - first), begin - offset, end - begin);
    }
  }

  /// Whether a piece of a message has moved; `done` is what has of it.
  bool moveMail(const Call &call, size_t &done) {
    const bool sends = call.kind == Send;
    Mail &mail = sends ? shared->mail[rank][call.root] : shared->mail[call.root][rank];
    const size_t bytes = std::min(sizeof(mail.bytes), call.count * sizeOf(call.type) - done);
    if (bytes == 0 || (mail.sent == mail.taken) != sends)
      return false;
    if (sends) {
      mail.count = call.count;
      mail.type = call.type;
      std::memcpy(mail.bytes, static_cast<const char *>(call.from) + done, bytes);
    } else if (mail.count != call.count || mail.type != call.type)
      stop("a rank receives another message than was sent");
    else
      std::memcpy(static_cast<char *>(call.to) + done, mail.bytes, bytes);
    ++(sends ? mail.sent : mail.taken);
    done += bytes;
    return true;
  }

  /// Who waits for whom in messages, by rank: the peer's number and one; 0: for nobody.
  void noteWaits(const std::vector<Call> &group, const std::vector<size_t> &done) {
    int only = 0;
    for (size_t i = 0; i < group.size(); ++i)
      if (done[i] != group[i].count * sizeOf(group[i].type))
        only = only == 0 || only == group[i].root + 1 ? group[i].root + 1 : -1; // several: it may go on
    shared->waits[rank] = std::max(only, 0);
  }

  /// The ranks wait in a circle, and nothing has moved for a while: no time will end that.
  void expectNoCycle(std::chrono::steady_clock::time_point since) const {
    if (std::chrono::steady_clock::now() - since <
        std::chrono::seconds(setting("KEDGE_STUB_NCCL_PATIENCE", 20)))
      return;
    int at = rank;
    for (int steps = 0; steps < ranks; ++steps) {
      at = shared->waits[at] - 1;
      if (at < 0)
        return;
      if (at == rank)
        stop("sends and receives wait for each other");
    }
  }

  /// A send is over when it has been taken: ranks that send to each other first wait for each other, as large
  /// messages do on a GPU.
  void awaitReceivers(const std::vector<Call> &group) {
    const auto since = std::chrono::steady_clock::now();
    for (const Call &call : group)
      while (call.kind == Send && !aborted &&
             shared->mail[rank][call.root].sent != shared->mail[rank][call.root].taken) {
        shared->waits[rank] = call.root + 1;
        expectNoCycle(since);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    shared->waits[rank] = 0;
  }

  /// All messages of a group at once, each pair's in the order of their calls. What is larger than a mail
  /// waits for its receiver, and so does the last of it: no call ends before the other has been made.
  void exchangeMail(const std::vector<Call> &group) {
    auto since = std::chrono::steady_clock::now();
    std::vector<size_t> done(group.size());
    const auto isDone = [&](size_t i) { return done[i] == group[i].count * sizeOf(group[i].type); };
    const auto isFirst = [&](size_t i) {
      for (size_t before = 0; before < i; ++before)
        if (!isDone(before) && group[before].kind == group[i].kind && group[before].root == group[i].root)
          return false;
      return true;
    };
    for (size_t left = group.size(); left != 0 && !aborted;) {
      left = 0;
      bool moved = false;
      for (size_t i = 0; i < group.size(); ++i) {
        moved |= isFirst(i) && moveMail(group[i], done[i]);
        left += !isDone(i);
      }
      if (moved || left == 0) {
        since = std::chrono::steady_clock::now();
        continue;
      }
      noteWaits(group, done);
      expectNoCycle(since);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    shared->waits[rank] = 0;
    awaitReceivers(group);
  }

  void perform(const Call &call) {
    if (++performed == setting("KEDGE_STUB_NCCL_LOST", 0)) {
      lost = true;
      while (!aborted)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      return;
    }
    const size_t bytes =
        call.count * sizeOf(call.type) * (call.kind == ReduceScatter ? static_cast<size_t>(ranks) : 1);
    shared->facts[rank] = {call.kind, call.type, call.op, call.root, call.count};
    for (size_t offset = 0; offset < bytes; offset += kSlot) {
      const size_t part = std::min(kSlot, bytes - offset);
      if (call.kind != Broadcast || call.root == rank)
        std::memcpy(shared->slots[rank], static_cast<const char *>(call.from) + offset, part);
      if (!meet())
        return;
      for (int other = 0; other < ranks; ++other)
        if (!(shared->facts[other] == shared->facts[rank]))
          stop("ranks make different calls");
      take(call, offset, part);
      if (!meet())
        return;
    }
  }
};

namespace {

bool grouped = false;
std::vector<Call> calls;
int groupCode = 0; ///< of the first call that failed
ncclComm_t groupComm = nullptr;
cudaStream_t groupStream = nullptr;

ncclResult_t add(ncclComm_t comm, cudaStream_t stream, Call call) {
  record("%s count %zu type %d root %d", call.name, call.count, static_cast<int>(call.type), call.root);
  if (!grouped || comm->unsettled != 0 || !comm->joined)
    stop("a call outside of a group, or before the last one was accepted");
  groupComm = comm;
  groupStream = stream;
  calls.push_back(call);
  const int code = failure(call.name);
  groupCode = groupCode ? groupCode : code;
  return static_cast<ncclResult_t>(code);
}

/// The graph that is being recorded, if one is, refers to the group from now on.
void noteGraph() {
  ++groupComm->recorded;
  std::shared_ptr<void> reference(groupComm, [](void *comm) { --static_cast<ncclComm_t>(comm)->recorded; });
  using Hold = void (*)(std::shared_ptr<void> *, void *);
  reinterpret_cast<Hold>(dlsym(RTLD_DEFAULT, "kedge_stub_hold"))(&reference, groupStream);
}

/// What NCCL waits for without end, and tests for a while.
void awaitGraphs(const ncclComm &comm) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (comm.recorded != 0) {
    if (std::chrono::steady_clock::now() > end)
      stop("a group is aborted while graphs hold calls of it, and waits for ever");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Shared *map(const std::string &path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0)
    stop("no shared memory");
  void *mapped = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<Shared *>(mapped);
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  *version = static_cast<int>(setting("KEDGE_STUB_NCCL_VERSION", 22809));
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t) { return "an error that a test asked for"; }
const char *ncclGetLastError(ncclComm_t) { return "the last words of NCCL"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::random_device random;
  std::snprintf(id->internal, sizeof(id->internal), "/dev/shm/kedge-nccl-%08x%08x", random(), random());
  return static_cast<ncclResult_t>(failure("ncclGetUniqueId"));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  record("ncclCommInitRankConfig rank %d of %d", rank, ranks);
  if (config->magic != 0xcafebeef || config->size < 24 || config->blocking != 0 ||
      config->cgaClusterSize != NCCL_CONFIG_UNDEF_INT)
    stop("a configuration of a group that does not block was expected");
  if (const int code = failure("ncclCommInitRankConfig"))
    return static_cast<ncclResult_t>(code);
  const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  if (ranks > setting("KEDGE_STUB_GPUS", 1) &&
      (!shares || std::strcmp(shares, "1") != 0 || setting("KEDGE_STUB_NCCL_VERSION", 22809) < 23000))
    return ncclInvalidUsage;
  *comm = new ncclComm;
  (*comm)->ranks = ranks;
  (*comm)->rank = rank;
  (*comm)->path = id.internal;
  (*comm)->shared = map((*comm)->path);
  ++(*comm)->shared->attached;
  reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "kedge_stub_work_aside"))();
  return ncclInProgress;
}

/// Ranks of a color meet in a file of their own.
ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *comm, ncclConfig_t *config) {
  record("ncclCommSplit color %d key %d", color, key);
  if (config->magic != 0xcafebeef || config->blocking != 0 || parent->unsettled != 0 || !parent->joined)
    stop("a split of a group that is settled, without blocking, was expected");
  if (const int code = failure("ncclCommSplit"))
    return static_cast<ncclResult_t>(code);
  Shared *shared = parent->shared;
  const uint32_t splits = ++parent->splits;
  shared->colors[parent->rank] = color;
  shared->split[parent->rank] = splits;
  int ranks = 0;
  for (int other = 0; other < parent->ranks; ++other) {
    while (shared->split[other] < splits)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    ranks += shared->colors[other] == color;
  }
  shared->counted[parent->rank] = splits;
  for (int other = 0; other < parent->ranks; ++other)
    while (shared->counted[other] < splits)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  *comm = nullptr;
  auto *made = new ncclComm;
  made->ranks = ranks;
  made->rank = key;
  made->path = parent->path + "-" + std::to_string(splits) + "-" + std::to_string(color);
  made->shared = map(made->path);
  ++made->shared->attached;
  parent->made = made, parent->child = comm;
  parent->unsettled = 1;
  // NCCL says either, and fills the handle when the parent has settled.
  return splits % 2 ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *status) {
  if (!comm)
    return ncclInvalidArgument;
  *status = comm->lost ? ncclRemoteError : ncclSuccess;
  if (comm->lost)
    return ncclSuccess;
  if (!comm->joined && comm->shared->attached >= static_cast<uint32_t>(comm->ranks)) {
    comm->joined = true;
    unlink(comm->path.c_str());
  }
  if (!comm->joined || comm->unsettled > 0 || (comm->leaving && comm->recorded != 0))
    *status = ncclInProgress;
  else if (comm->child)
    *comm->child = std::exchange(comm->made, nullptr), comm->child = nullptr;
  comm->unsettled = std::max(comm->unsettled - 1, 0);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  record("ncclCommFinalize");
  if (grouped)
    stop("a group leaves between ncclGroupStart and ncclGroupEnd");
  comm->leaving = true;
  comm->unsettled = 1;
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  record("ncclCommDestroy");
  if (comm->recorded != 0)
    stop("a group is destroyed while graphs hold calls of it");
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return ncclSuccess;
}
/// What the GPU is in ends; the group is not used again.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  record("ncclCommAbort");
  if (grouped)
    stop("a group is aborted between ncclGroupStart and ncclGroupEnd");
  unlink(comm->path.c_str());
  comm->aborted = true;
  awaitGraphs(*comm);
  return ncclSuccess;
}
ncclResult_t ncclCommRegister(const ncclComm_t, void *, size_t bytes, void **handle) {
  record("ncclCommRegister %zu", bytes);
  *handle = handle;
  return static_cast<ncclResult_t>(failure("ncclCommRegister"));
}
ncclResult_t ncclCommDeregister(const ncclComm_t, void *) {
  record("ncclCommDeregister");
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  grouped = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  grouped = false;
  const int failed = std::exchange(groupCode, 0), code = failed ? failed : failure("ncclGroupEnd");
  if (code != 0)
    calls.clear();
  if (code != 0 || calls.empty())
    return static_cast<ncclResult_t>(code);
  noteGraph();
  enqueue(
      [comm = groupComm, list = std::move(calls)] {
        std::vector<Call> mail;
        for (const Call &call : list)
          if (call.kind == Send || call.kind == Receive)
            mail.push_back(call);
          else if (!comm->aborted)
            comm->perform(call);
        comm->exchangeMail(mail);
      },
      groupStream);
  calls.clear();
  groupComm->unsettled = 1;
  return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, {"ncclAllReduce", AllReduce, from, to, count, type, op, 0});
}
ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, {"ncclReduce", Reduce, from, to, count, type, op, root});
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, {"ncclBroadcast", Broadcast, from, to, count, type, ncclSum, root});
}
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, {"ncclReduceScatter", ReduceScatter, from, to, count, type, op, 0});
}
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return add(comm, stream, {"ncclAllGather", AllGather, from, to, count, type, ncclSum, 0});
}
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm, stream, {"ncclSend", Send, from, nullptr, count, type, ncclSum, to});
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm, stream, {"ncclRecv", Receive, nullptr, to, count, type, ncclSum, from});
}

} // extern "C"
