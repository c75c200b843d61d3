#include "runtime/cuda/driver/ManagementLibrary.h"
#include <algorithm>

namespace kedge::rt::cuda {
namespace {

// The toolkit need not bring nvml.h: these are the functions and structs that its documentation gives.
using Status = int; // 0: success
struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};

template <typename Function> Function *functionOf(const SharedLibrary &library, const char *name) {
  return library.isOpen() ? reinterpret_cast<Function *>(library.trySymbol(name)) : nullptr;
}

} // namespace

ManagementLibrary::ManagementLibrary() : library(SharedLibrary::tryOpen({"libnvidia-ml.so.1"})) {
  auto *init = functionOf<Status()>(library, "nvmlInit_v2");
  if (!init || init() != 0)
    library = SharedLibrary();
}

bool ManagementLibrary::find(const std::string &busId, void *&device) const {
  auto *handle = functionOf<Status(const char *, void **)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  return handle && handle(busId.c_str(), &device) == 0;
}

std::optional<uint64_t> ManagementLibrary::usedBytes(const std::string &busId) const {
  void *device = nullptr;
  Memory memory{};
  auto *info = functionOf<Status(void *, Memory *)>(library, "nvmlDeviceGetMemoryInfo");
  if (!info || !find(busId, device) || info(device, &memory) != 0)
    return std::nullopt;
  return memory.used;
}

std::vector<MemoryHolder> ManagementLibrary::holders(const std::string &busId) const {
  std::vector<MemoryHolder> result;
  void *device = nullptr;
  auto *running =
      functionOf<Status(void *, unsigned *, Process *)>(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  auto *nameOf = functionOf<Status(unsigned, char *, unsigned)>(library, "nvmlSystemGetProcessName");
  std::vector<Process> processes(256);
  unsigned count = static_cast<unsigned>(processes.size());
  if (!running || !find(busId, device) || running(device, &count, processes.data()) != 0)
    return result;
  for (unsigned i = 0; i < count; ++i) {
    char name[256] = "";
    if (nameOf)
      nameOf(processes[i].pid, name, sizeof(name) - 1);
    // All ones: not known, as within containers.
    if (processes[i].usedGpuMemory != ~0ull)
      result.push_back({processes[i].pid, name, processes[i].usedGpuMemory});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const MemoryHolder &a, const MemoryHolder &b) { return a.bytes > b.bytes; });
  return result;
}

} // namespace kedge::rt::cuda
