// libnvidia-ml.so.1 as tests have it: KEDGE_STUB_HOLDER=BYTES is what another process, 4711, holds.
#include "test/unit/cuda/stubs/Stub.h"

using namespace kedge::stub;

namespace {
struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
unsigned long long used = 1000;
} // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *, void **device) {
  *device = &used;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void *, Memory *memory) {
  *memory = {0, 0, used += 4096};
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *, unsigned *count, Process *processes) {
  const int64_t held = setting("KEDGE_STUB_HOLDER", 0);
  *count = held > 0 ? 2 : 1;
  processes[0] = {static_cast<unsigned>(getpid()), 123456, 0, 0};
  processes[1] = {4711, static_cast<unsigned long long>(held), 0, 0};
  return 0;
}
int nvmlSystemGetProcessName(unsigned, char *name, unsigned length) {
  std::snprintf(name, length, "other-program");
  return 0;
}
}
