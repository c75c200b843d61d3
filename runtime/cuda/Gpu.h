// One GPU: its context, its stream, its memory. Everything of the runtime that touches it goes through here.
#pragma once
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/ManagementLibrary.h"
#include "runtime/exec/Device.h"

namespace kedge::rt::cuda {

/// Looks whether waiting for the GPU still makes sense: what runs there may wait for another rank.
class GpuWatch {
public:
  virtual ~GpuWatch() = default;
  /// Throws rt::Error when it does not.
  virtual void look() = 0;
  /// The wait is over.
  virtual void rest() = 0;
};

class Gpu {
public:
  /// Opens the GPU of a rank that is number `localRank` on this machine: the first that the driver shows, where it is alone.
  /// Throws rt::Error when there is none, when the driver is too old for `arch` ("sm_90"), or the GPU is of another
  /// architecture.
  explicit Gpu(const std::string &arch, int64_t localRank = 0);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const Driver &driver() const { return functions; }
  CUstream stream() const { return queue; }
  const std::string &name() const { return deviceName; } ///< "NVIDIA H200"
  const std::string &bus() const { return busId; }       ///< "0000:01:00.0"
  int devices() const { return deviceCount; }            ///< that the driver shows to this process
  int capability() const { return computeCapability; }   ///< 90 of sm_90
  int driverVersion() const { return version; }          ///< 12080 of CUDA 12.8

  /// Device memory, 256-byte aligned and zeroed. Throws rt::Error that says what was needed, what is free and who
  /// holds the rest, before it asks for more than there is.
  CUdeviceptr allocate(uint64_t bytes, const char *what);
  void release(CUdeviceptr memory);
  /// Page-locked host memory.
  char *allocatePinned(uint64_t bytes);
  /// The same for what --offload keeps there, zeroed. Throws rt::Error that says what was needed, what is free and what
  /// to do, before it asks for more than there is.
  char *allocateHostArena(uint64_t bytes);
  /// Waits for the stream. Throws rt::Error that names the launches which were noted last.
  void synchronize() const;
  /// Wait without a message of their own: what the driver says. With a watch they poll and never block.
  CUresult waitForStream() const;
  CUresult waitForEvent(CUevent event) const;
  /// Null: none.
  void setWatch(GpuWatch *looks) { watch = looks; }
  /// What errors are about from now on: launches [first, end) of a function.
  void note(const Function &function, int first, int end);

  /// Page-locked host memory that was allocated.
  uint64_t pinnedBytes() const { return pinnedTotal; }

  struct MemoryInfo {
    uint64_t free = 0, total = 0;
  };
  MemoryInfo memory() const;
  /// What the context took as it was made; nothing when the driver's management library is not there to tell.
  std::optional<uint64_t> contextBytes() const { return contextSize; }
  /// What this process holds on the GPU, as the driver tells it.
  std::optional<uint64_t> processBytes() const;

private:
  void checkVersion(const std::string &arch) const;
  void checkArchitecture(const std::string &arch);
  std::string whoHolds() const;
  template <typename Query> CUresult poll(Query query) const;

  Driver functions;
  ManagementLibrary management;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream queue = nullptr;
  std::string deviceName, busId;
  int version = 0, computeCapability = 0, deviceCount = 0;
  GpuWatch *watch = nullptr;
  std::optional<uint64_t> contextSize;
  const Function *running = nullptr;
  int runningFirst = 0, runningEnd = 0;
  std::vector<CUdeviceptr> allocations;
  std::vector<void *> pinned;
  uint64_t pinnedTotal = 0;
};

/// 90 of "sm_90" or "sm_90a"; 0 of what is no architecture.
int capabilityOf(const std::string &arch);

} // namespace kedge::rt::cuda
