// The ranks of a job, one GPU each: NCCL's communicator, which is polled and never waited for, and the
// running collective.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/cuda/driver/Gpu.h"
#include "runtime/cuda/library/Nccl.h"
#include <functional>
#include <map>

namespace kedge::rt::cuda {

/// A group of ranks, and this rank's place in it.
struct NcclGroup {
  World own;
  nccl::Handle handle = nullptr;
};

class NcclRanks final : public GpuWatch {
public:
  /// Joins the other ranks; all ranks call this. Throws rt::RuntimeError if NCCL is missing
  /// or fails, or if two ranks have the same GPU, and Stopped if another rank is lost.
  NcclRanks(Gpu &gpu, const Program &program, Communicator &ranks);
  /// Leaves regularly, after pending work, if there was no error; otherwise aborts. Destroy the CUDA graphs
  /// that calls of the group were recorded in before: NCCL waits for that in both cases.
  ~NcclRanks() override;
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;

  World world() const { return ranks.world(); }
  Mesh mesh() const { return ranks.mesh(); }
  const nccl::Library &library() const { return nccl; }
  /// The ranks that take part in a launch of the program.
  const NcclGroup &groupOf(const Launch &launch) const;
  /// Throws rt::RuntimeError unless NCCL has taken the call, or is about to.
  void expect(nccl::Status status, nccl::Handle group, const char *what) const;

  /// Puts the calls of a collective on `stream`, as one group. `launch` is its launch in the program, `group`
  /// that of groupOf.
  void enqueue(const Launch &launch, const NcclGroup &group, CUstream stream,
               const std::function<void()> &calls);

  void look() override;
  void rest() override { ranks.noteWait(nullptr); }

  /// Registers the arena with NCCL, if NCCL supports it.
  void registerArena(CUdeviceptr arena, uint64_t bytes);
  /// GPU memory that the communicator and its first collectives took.
  uint64_t memoryBytes() const { return taken; }
  nlohmann::json figures() const;

private:
  static bool mayShareGpus();
  void refuseSharedGpus() const;
  void nameCollectives(const Program &program);
  void join();
  /// A group of its own for each set of axes that the program's collectives name.
  void split(const Program &program);
  void warmUp(const NcclGroup &group);
  /// NCCL connects two ranks with their first message.
  void connectPeers(const Program &program);
  std::string nameOf(const std::string &function, const Launch &launch) const;
  /// What is called in it NCCL gets at once. Ends in any case: a group left open takes no end of its ranks.
  void together(nccl::Handle group, const char *what, const std::function<void()> &calls);
  /// Waits until NCCL has accepted the call.
  void settle(nccl::Status status, nccl::Handle group, const char *what);
  void awaitSplit(nccl::Status status, NcclGroup &group);
  bool leave();
  bool leave(nccl::Handle group);
  const NcclGroup &all() const { return groups.at(""); }

  Gpu &gpu;
  Communicator &ranks;
  nccl::Library nccl;
  std::map<std::string, NcclGroup> groups; ///< by axes; all ranks: ""
  std::vector<std::pair<nccl::Handle, void *>> registered;
  uint64_t taken = 0;
  /// Names of the program's collectives by number, for messages. When the GPU begins
  /// a collective, it writes its number to `current`, from a table on the GPU.
  std::vector<std::string> names; // "dist.all_gather at h.0 in @step along replica (ranks 0, 2)"
  std::map<const Launch *, int32_t> numbers;
  CUdeviceptr table = 0;
  volatile int32_t *current = nullptr;
};

} // namespace kedge::rt::cuda
