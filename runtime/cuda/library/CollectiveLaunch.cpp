#include "runtime/cuda/library/CollectiveLaunch.h"
#include "runtime/comm/CollectiveKernel.h"
#include <algorithm>

namespace kedge::rt::cuda {
using namespace calls;

namespace {

/// One tensor of a collective.
struct Carried {
  const void *input;
  void *output;
  size_t elements, part; ///< of the whole, of a rank's part with its padding
  nccl::Type type;
  size_t size; ///< of an element
};

void *at(const void *place, size_t bytes) {
  return reinterpret_cast<void *>(reinterpret_cast<CUdeviceptr>(place) + bytes);
}

class CollectiveLaunch final : public LibraryLaunch {
public:
  CollectiveLaunch(Gpu &gpu, NcclRanks &ranks, const Launch &launch, const LibraryCall &call,
                   const LaunchPointers &pointers, CUstream stream)
      : gpu(gpu), ranks(ranks), group(ranks.groupOf(launch)), launch(launch), stream(stream) {
    const Collective what = collectiveOf(call);
    if (what.rows)
      fail("{}: rows of experts over ranks are not available yet on CUDA", call.name);
    kind = what.kind;
    senders = what.senders;
    peer = what.peer;
    operation = what.reduction == Reduction::Max ? nccl::Operation::Max : nccl::Operation::Sum;
    for (size_t i = 0; i < what.tensors.size(); ++i) {
      const CollectiveTensor &tensor = what.tensors[i];
      const size_t elements = static_cast<size_t>(tensor.elements), size = dtypeSize(tensor.type);
      Carried carried{reinterpret_cast<const void *>(pointers.inputs[i]),
                      reinterpret_cast<void *>(pointers.outputs[i]),
                      elements,
                      static_cast<size_t>(shardSize(tensor.elements, group.own.size)),
                      nccl::Type::Uint8,
                      size};
      if (kind == CollectiveKind::AllGather || kind == CollectiveKind::Transfer) { // bytes are bytes
        carried.elements *= size;
        carried.part *= size;
        carried.size = 1;
      } else {
        carried.type = nccl::typeOf(tensor.type);
      }
      tensors.push_back(carried);
    }
  }

  void enqueue() override {
    if (kind == CollectiveKind::ReduceScatter)
      clearPadding();
    if (kind == CollectiveKind::Transfer && !peer)
      fillAlone();
    ranks.enqueue(launch, group, stream, [this] {
      for (const Carried &tensor : tensors)
        if (tensor.elements != 0)
          add(tensor);
    });
  }

private:
  size_t countOf(const Carried &tensor, int64_t rank) const {
    const size_t first = std::min(static_cast<size_t>(rank) * tensor.part, tensor.elements);
    return std::min(tensor.part, tensor.elements - first);
  }

  /// Behind a rank's part of a sum, which NCCL leaves alone.
  void clearPadding() {
    for (const Carried &tensor : tensors)
      if (const size_t count = countOf(tensor, group.own.rank); count < tensor.part)
        gpu.driver().check(
            gpu.driver().memsetD8Async(reinterpret_cast<CUdeviceptr>(tensor.output) + count * tensor.size, 0,
                                       (tensor.part - count) * tensor.size, stream),
            "padding cannot be cleared");
  }

  int64_t sender() const { return senders[static_cast<size_t>(group.own.rank)]; }
  bool isBroadcast() const {
    return senders.front() != Collective::kNobody &&
           std::all_of(senders.begin(), senders.end(), [&](int64_t rank) { return rank == senders.front(); });
  }

  /// What needs no other rank: own tensors, and zeros where nobody gives any.
  void fillAlone() {
    const Driver &driver = gpu.driver();
    for (const Carried &tensor : tensors) {
      const auto to = reinterpret_cast<CUdeviceptr>(tensor.output),
                 from = reinterpret_cast<CUdeviceptr>(tensor.input);
      if (tensor.elements != 0 && sender() == Collective::kNobody)
        driver.check(driver.memsetD8Async(to, 0, tensor.elements, stream),
                     "a tensor that no rank gives cannot be cleared");
      else if (tensor.elements != 0 && sender() == group.own.rank && !isBroadcast())
        driver.check(driver.memcpyDtoDAsync(to, from, tensor.elements, stream),
                     "a rank's own tensor cannot be copied");
    }
  }

  /// Each rank makes its transfers in the order of their numbers, on one stream: no two wait for each other.
  void addPeerTransfer(const Carried &tensor) {
    const nccl::Library &nccl = ranks.library();
    const int other = static_cast<int>(peer->rank);
    expect(peer->sends
               ? nccl.send(tensor.input, tensor.elements, tensor.type, other, group.handle, stream)
               : nccl.receive(tensor.output, tensor.elements, tensor.type, other, group.handle, stream));
  }

  void addTransfer(const Carried &tensor) {
    if (peer)
      return addPeerTransfer(tensor);
    const nccl::Library &nccl = ranks.library();
    const int64_t own = group.own.rank;
    if (isBroadcast())
      return expect(nccl.broadcast(tensor.input, tensor.output, tensor.elements, tensor.type,
                                   static_cast<int>(sender()), group.handle, stream));
    for (int64_t rank = 0; rank < group.own.size; ++rank)
      if (rank != own && senders[static_cast<size_t>(rank)] == own)
        expect(nccl.send(tensor.input, tensor.elements, tensor.type, static_cast<int>(rank), group.handle,
                         stream));
    if (sender() != own && sender() != Collective::kNobody)
      expect(nccl.receive(tensor.output, tensor.elements, tensor.type, static_cast<int>(sender()),
                          group.handle, stream));
  }

  void add(const Carried &tensor) {
    const nccl::Library &nccl = ranks.library();
    const size_t size = static_cast<size_t>(group.own.size);
    if (kind == CollectiveKind::Transfer)
      return addTransfer(tensor);
    const bool isEven = tensor.elements == tensor.part * size;
    if (kind == CollectiveKind::AllReduce)
      expect(nccl.allReduce(tensor.input, tensor.output, tensor.elements, tensor.type, operation,
                            group.handle, stream));
    else if (!isEven)
      addUneven(tensor);
    else if (kind == CollectiveKind::ReduceScatter)
      expect(nccl.reduceScatter(tensor.input, tensor.output, tensor.part, tensor.type, operation,
                                group.handle, stream));
    else
      expect(nccl.allGather(tensor.input, tensor.output, tensor.part, tensor.type, group.handle, stream));
  }

  /// NCCL's own want equal parts, and would write beyond the tensor: a call for each rank's part, in one
  /// group.
  void addUneven(const Carried &tensor) {
    const nccl::Library &nccl = ranks.library();
    for (int64_t rank = 0; rank < group.own.size; ++rank) {
      const size_t count = countOf(tensor, rank),
                   offset = static_cast<size_t>(rank) * tensor.part * tensor.size;
      if (count == 0)
        continue;
      const int root = static_cast<int>(rank);
      if (kind == CollectiveKind::ReduceScatter)
        expect(nccl.reduce(at(tensor.input, offset), tensor.output, count, tensor.type, operation, root,
                           group.handle, stream));
      else
        expect(nccl.broadcast(tensor.input, at(tensor.output, offset), count, tensor.type, root, group.handle,
                              stream));
    }
  }

  void expect(nccl::Status status) const { ranks.expect(status, group.handle, launch.library.c_str()); }

  Gpu &gpu;
  NcclRanks &ranks;
  const NcclGroup &group;
  const Launch &launch;
  CUstream stream;
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::vector<int64_t> senders;     ///< of a transfer among all
  std::optional<PeerTransfer> peer; ///< of a transfer between two
  nccl::Operation operation = nccl::Operation::Sum;
  std::vector<Carried> tensors;
};

/// Copies on the GPU, with zeros behind them.
class PartLaunch final : public LibraryLaunch {
public:
  struct Part {
    CUdeviceptr from, to;
    size_t bytes, room;
  };
  PartLaunch(Gpu &gpu, CUstream stream, std::vector<Part> parts)
      : gpu(gpu), stream(stream), parts(std::move(parts)) {}

  void enqueue() override {
    const Driver &driver = gpu.driver();
    for (const Part &part : parts) {
      if (part.bytes != 0)
        driver.check(driver.memcpyDtoDAsync(part.to, part.from, part.bytes, stream),
                     "a rank's part cannot be copied");
      if (part.bytes < part.room)
        driver.check(driver.memsetD8Async(part.to + part.bytes, 0, part.room - part.bytes, stream),
                     "padding cannot be cleared");
    }
  }

private:
  Gpu &gpu;
  CUstream stream;
  std::vector<Part> parts;
};

std::unique_ptr<LibraryLaunch> makePartLaunch(Gpu &gpu, const World &world, const LibraryCall &call,
                                              const LaunchPointers &pointers, CUstream stream) {
  std::vector<PartLaunch::Part> parts;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const ElementRange own = localShardOf(call.inputs[i].elements(), world.rank, world.size);
    const size_t size = dtypeSize(call.inputs[i].type);
    parts.push_back({pointers.inputs[i] + static_cast<size_t>(own.first) * size, pointers.outputs[i],
                     static_cast<size_t>(own.count) * size, call.outputs[i].bytes()});
  }
  return std::make_unique<PartLaunch>(gpu, stream, std::move(parts));
}

} // namespace

std::unique_ptr<LibraryLaunch> makeRankLaunch(Gpu &gpu, NcclRanks *ranks, const Launch &launch,
                                              const LaunchPointers &pointers, CUstream stream) {
  const LibraryCall call{launch.library, launch.attrs, launch.inputs, launch.outputs};
  checkRankCall(call);
  const int64_t wanted = ranksOf(call);
  if (wanted == 1) // every result is its operand
    return makePartLaunch(gpu, {0, 1}, call, pointers, stream);
  if (!ranks)
    fail("the program is damaged: {} at {} for {} ranks in a job of one", launch.library, launch.loc, wanted);
  const World own = groupOf(call, ranks->mesh(), ranks->world().rank).own;
  if (launch.library == "dist.local_shard")
    return makePartLaunch(gpu, own, call, pointers, stream);
  return std::make_unique<CollectiveLaunch>(gpu, *ranks, launch, call, pointers, stream);
}

} // namespace kedge::rt::cuda
