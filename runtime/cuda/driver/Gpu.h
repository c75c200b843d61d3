// One GPU: its context, its stream, its memory. All access of the runtime to the GPU goes through this class.
#pragma once
#include "runtime/cuda/driver/Driver.h"
#include "runtime/cuda/driver/ManagementLibrary.h"
#include "runtime/exec/Device.h"

namespace kedge::rt::cuda {

/// Checks whether it still makes sense to wait for the GPU: a collective there may be waiting for a lost
/// rank.
class GpuWatch {
public:
  virtual ~GpuWatch() = default;
  /// Throws rt::RuntimeError if it does not.
  virtual void look() = 0;
  /// Called when the wait has ended.
  virtual void rest() = 0;
};

class Gpu {
public:
  /// Opens the GPU with the number `localRank`, the rank's number on this machine, or
  /// the only one that the driver shows. Throws rt::RuntimeError if there is no GPU, if the
  /// driver is too old for `arch` ("sm_90"), or if the GPU has another architecture.
  explicit Gpu(const std::string &arch, int64_t localRank = 0);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const Driver &driver() const { return functions; }
  CUstream stream() const { return queue; }
  const std::string &name() const { return deviceName; } ///< "NVIDIA H200"
  const std::string &bus() const { return busId; }       ///< "0000:01:00.0"
  int devices() const { return deviceCount; }            ///< number of GPUs that this process can see
  int capability() const { return computeCapability; }   ///< 90 for sm_90
  int driverVersion() const { return version; }          ///< 12080 for CUDA 12.8

  /// Device memory, 256-byte aligned and set to zero. Checks first whether it fits; if
  /// not, throws rt::RuntimeError that says what was needed, what is free and who holds the rest.
  CUdeviceptr allocate(uint64_t bytes, const char *what);
  void release(CUdeviceptr memory);
  /// Page-locked host memory.
  char *allocatePinned(uint64_t bytes);
  /// The same for data that --offload keeps in host memory, set to zero. Checks first whether
  /// it fits; if not, throws rt::RuntimeError that says what was needed, what is free and what to do.
  char *allocateHostArena(uint64_t bytes);
  /// Waits for the stream. Throws rt::RuntimeError that names the launches given to the last note().
  void synchronize() const;
  /// Waits and returns the driver's result, without a message. With a watch it polls and never blocks.
  CUresult waitForStream() const;
  CUresult waitForEvent(CUevent event) const;
  /// Null: no watch.
  void setWatch(GpuWatch *looks) { watch = looks; }
  /// The launches that later errors refer to: [first, end) of a function.
  void note(const Function &function, int first, int end);

  /// Page-locked host memory that was allocated.
  uint64_t pinnedBytes() const { return pinnedTotal; }

  struct MemoryInfo {
    uint64_t free = 0, total = 0;
  };
  MemoryInfo memory() const;
  /// Memory that creating the context took; nothing if the driver's management library is missing.
  std::optional<uint64_t> contextBytes() const { return contextSize; }
  /// Memory that this process holds on the GPU, from the driver.
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

/// 90 for "sm_90" or "sm_90a"; 0 if it is not an architecture.
int capabilityOf(const std::string &arch);

} // namespace kedge::rt::cuda
