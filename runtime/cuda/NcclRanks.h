// The ranks of a job, each on its GPU: NCCL's group, which is polled and never waited for, and which collective the GPU is in.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/Nccl.h"
#include <map>

namespace kedge::rt::cuda {

class NcclRanks final : public GpuWatch {
public:
  /// Joins the others; all ranks come here. Throws rt::Error when NCCL is missing or refuses, or two ranks have one GPU;
  /// Stopped when another rank is gone.
  NcclRanks(Gpu &gpu, const Program &program, Communicator &ranks);
  /// Leaves in order, behind what is under way, where nothing has gone wrong; else breaks it off.
  ~NcclRanks() override;
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;

  World world() const { return ranks.world(); }
  const nccl::Library &library() const { return nccl; }
  nccl::Handle handle() const { return group; }

  /// Put the calls of a collective, a launch of the program, between these two on `stream`.
  void begin(const Launch &launch, CUstream stream);
  void end();

  void look() override;
  void rest() override { ranks.noteWait(nullptr); }

  /// Lets NCCL know the arena, where it can use that.
  void registerArena(CUdeviceptr arena, uint64_t bytes);
  /// What the group and its first collectives took on the GPU.
  uint64_t memoryBytes() const { return taken; }
  nlohmann::json figures() const;

private:
  void refuseSharedGpus() const;
  void nameCollectives(const Program &program);
  void join();
  void warmUp();
  /// Waits until what was asked of NCCL has been accepted.
  void settle(nccl::Status status, const char *what);
  bool leave();

  Gpu &gpu;
  Communicator &ranks;
  nccl::Library nccl;
  nccl::Handle group = nullptr;
  void *registered = nullptr;
  uint64_t taken = 0;
  /// By number of a collective of the program: its name for messages. The GPU writes the number of the one that it begins
  /// to `current`, from a table on the GPU.
  std::vector<std::string> names;
  std::map<const Launch *, int32_t> numbers;
  CUdeviceptr table = 0;
  volatile int32_t *current = nullptr;
};

} // namespace kedge::rt::cuda
