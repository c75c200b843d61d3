// The ranks of a job, one GPU each: NCCL's communicator, which is polled and never waited for, and the running collective.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/Nccl.h"
#include <map>

namespace kedge::rt::cuda {

/// A group of ranks, and this rank's place in it.
struct NcclGroup {
  World own;
  nccl::Handle handle = nullptr;
};

class NcclRanks final : public GpuWatch {
public:
  /// Joins the other ranks; all ranks call this. Throws rt::Error if NCCL is missing
  /// or fails, or if two ranks have the same GPU, and Stopped if another rank is lost.
  NcclRanks(Gpu &gpu, const Program &program, Communicator &ranks);
  /// Leaves regularly, after pending work, if there was no error; otherwise aborts.
  ~NcclRanks() override;
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;

  World world() const { return ranks.world(); }
  Mesh mesh() const { return ranks.mesh(); }
  const nccl::Library &library() const { return nccl; }
  /// The ranks that take part in a launch of the program.
  const NcclGroup &groupOf(const Launch &launch) const;

  /// Put the calls of a collective on `stream` between these two. `launch` is its launch in the program.
  void begin(const Launch &launch, CUstream stream);
  void end(const Launch &launch);

  void look() override;
  void rest() override { ranks.noteWait(nullptr); }

  /// Registers the arena with NCCL, if NCCL supports it.
  void registerArena(CUdeviceptr arena, uint64_t bytes);
  /// GPU memory that the communicator and its first collectives took.
  uint64_t memoryBytes() const { return taken; }
  nlohmann::json figures() const;

private:
  void refuseSharedGpus() const;
  void nameCollectives(const Program &program);
  void join();
  /// A group of its own for each set of axes that the program's collectives name.
  void split(const Program &program);
  void warmUp(const NcclGroup &group);
  /// Waits until NCCL has accepted the call.
  void settle(nccl::Status status, nccl::Handle group, const char *what);
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
