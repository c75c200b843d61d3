#include "runtime/cuda/driver/Gpu.h"
#include "runtime/exec/Yielder.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace kedge::rt::cuda {
namespace {

/// Polls of what is not done before the host sleeps between them.
constexpr int kEagerPolls = 2000;
constexpr std::chrono::microseconds kNap{20};

std::string gibibytes(uint64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(uint64_t(1) << 30));
}

/// The driver that first knew an architecture and the PTX of its kernels: version 8.1, 8.3 of sm_90a, 8.6
/// from sm_100 and 8.8 from sm_103 on (passes/Lower/Gpu/GpuCodegen.cpp), which came with
/// CUDA 12.1, 12.3, 12.7 and 12.9.
int driverFor(const std::string &arch) {
  const int capability = capabilityOf(arch);
  if (arch == "sm_90a")
    return 12030;
  if (capability > 101)
    return 12090;
  return capability >= 100 ? 12080 : 12010;
}

/// The most that a container may take; none: no limit.
uint64_t containerBytes() {
  uint64_t bytes = 0;
  return std::ifstream("/sys/fs/cgroup/memory.max") >> bytes ? bytes : UINT64_MAX;
}

/// What the system can give without swapping; nothing where it does not tell.
std::optional<uint64_t> availableHostBytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("MemAvailable:", 0) == 0)
      return std::min<uint64_t>(std::strtoull(line.c_str() + 13, nullptr, 10) * 1024, containerBytes());
  return std::nullopt;
}

} // namespace

int capabilityOf(const std::string &arch) {
  return arch.rfind("sm_", 0) == 0 ? static_cast<int>(std::strtol(arch.c_str() + 3, nullptr, 10)) : 0;
}

Gpu::Gpu(const std::string &arch, int64_t localRank) {
  functions.check(functions.init(0), "the GPU cannot be used");
  functions.check(functions.driverGetVersion(&version), "the driver does not tell its version");
  checkVersion(arch);
  functions.check(functions.deviceGetCount(&deviceCount), "GPUs cannot be counted");
  if (deviceCount == 0)
    functions.failWith(CUDA_ERROR_NO_DEVICE, "the GPU cannot be used");
  // Some launchers show each rank its own alone.
  const int number = static_cast<int>(localRank % deviceCount);
  functions.check(functions.deviceGet(&device, number), "GPU {} cannot be used", number);
  char text[256] = "";
  functions.check(functions.deviceGetName(text, sizeof(text) - 1, device), "the GPU's name cannot be read");
  deviceName = text;
  if (functions.deviceGetPCIBusId(text, sizeof(text) - 1, device) == CUDA_SUCCESS)
    busId = text;
  checkArchitecture(arch);
  const auto before = management.usedBytes(busId);
  functions.check(functions.devicePrimaryCtxRetain(&context, device), "the GPU '{}' cannot be used",
                  deviceName);
  functions.check(functions.ctxSetCurrent(context), "the GPU '{}' cannot be used", deviceName);
  functions.check(functions.streamCreate(&queue, CU_STREAM_NON_BLOCKING), "no stream on the GPU '{}'",
                  deviceName);
  const auto after = management.usedBytes(busId);
  if (before && after)
    contextSize = *after > *before ? *after - *before : 0;
}

Gpu::~Gpu() {
  for (CUdeviceptr memory : allocations)
    functions.memFree(memory);
  for (void *memory : pinned)
    functions.memFreeHost(memory);
  if (queue)
    functions.streamDestroy(queue);
  if (context)
    functions.devicePrimaryCtxRelease(device);
}

void Gpu::checkVersion(const std::string &arch) const {
  if (const int needed = driverFor(arch); version < needed)
    fail("NVIDIA's driver is too old: it is made for CUDA {}, and {} needs one for CUDA {} or newer; install "
         "a newer "
         "driver",
         versionText(version), arch, versionText(needed));
}

/// What runs on a GPU that is older than the program: not each architecture is a target of its own
/// (driver/program/GpuTarget.cpp).
static std::string remedyFor(int capability) {
  int target = 0;
  for (const int one : {80, 86, 89, 90, 100, 120})
    target = one <= capability ? one : target;
  return target ? fmt::format("compile it with --target cuda:sm_{}", target)
                : "Kedge needs sm_80 or newer; run it on another GPU, or compile it with --target cpu";
}

void Gpu::checkArchitecture(const std::string &arch) {
  int major = 0, minor = 0;
  functions.check(functions.deviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                  "the GPU's architecture cannot be read");
  functions.check(functions.deviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
                  "the GPU's architecture cannot be read");
  const int found = major * 10 + minor, expected = capabilityOf(arch);
  computeCapability = found;
  if (arch.ends_with('a') && found != expected)
    fail("this program was compiled for {} alone, and the GPU '{}' is an sm_{}: {}", arch, deviceName, found,
         remedyFor(found));
  if (found < expected)
    fail("this program was compiled for {}, and the GPU '{}' is an sm_{}: {}", arch, deviceName, found,
         remedyFor(found));
}

Gpu::MemoryInfo Gpu::memory() const {
  size_t free = 0, total = 0;
  functions.check(functions.memGetInfo(&free, &total), "the GPU's free memory cannot be read");
  return {free, total};
}

std::optional<uint64_t> Gpu::processBytes() const {
  for (const MemoryHolder &holder : management.holders(busId))
    if (holder.process == static_cast<unsigned>(getpid()))
      return holder.bytes;
  return std::nullopt;
}

/// "; held by process 12 (python3): 3.00 GiB, ...", or that it is not known.
std::string Gpu::whoHolds() const {
  std::string text;
  for (const MemoryHolder &holder : management.holders(busId))
    if (holder.process != static_cast<unsigned>(getpid()))
      text += fmt::format("{}process {}{}: {}", text.empty() ? "; held by " : ", ", holder.process,
                          holder.name.empty() ? "" : " (" + holder.name + ")", gibibytes(holder.bytes));
  return text.empty() ? "; the driver does not tell who holds the rest" : text;
}

CUdeviceptr Gpu::allocate(uint64_t bytes, const char *what) {
  bytes = std::max<uint64_t>(bytes, 256);
  const MemoryInfo now = memory();
  const auto tooLittle = [&] {
    fail("too little memory on the GPU '{}': {} needs {} bytes ({}), and {} bytes ({}) of {} are free{}; "
         "compile with "
         "a smaller batch or --memory-budget, or end what holds the memory",
         deviceName, what, bytes, gibibytes(bytes), now.free, gibibytes(now.free), gibibytes(now.total),
         whoHolds());
  };
  if (now.free < bytes)
    tooLittle();
  CUdeviceptr memory = 0;
  const CUresult result = functions.memAlloc(&memory, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    tooLittle();
  functions.check(result, "{} of {} bytes cannot be allocated", what, bytes);
  allocations.push_back(memory);
  functions.check(functions.memsetD8Async(memory, 0, bytes, queue), "{} cannot be cleared", what);
  return memory;
}

void Gpu::release(CUdeviceptr memory) {
  functions.memFree(memory);
  std::erase(allocations, memory);
}

char *Gpu::allocatePinned(uint64_t bytes) {
  void *memory = nullptr;
  functions.check(functions.memHostAlloc(&memory, std::max<uint64_t>(bytes, 64), 0),
                  "{} bytes of page-locked host memory cannot be had", bytes);
  pinned.push_back(memory);
  pinnedTotal += bytes;
  return static_cast<char *>(memory);
}

char *Gpu::allocateHostArena(uint64_t bytes) {
  const std::string what = fmt::format(
      "{} bytes ({}) of page-locked host memory, for what --offload keeps there", bytes, gibibytes(bytes));
  const char *remedy =
      "end what else uses this machine's memory, raise the memory limit of the container or job, or "
      "compile with less in --offload or a --host-memory-budget";
  if (const auto available = availableHostBytes(); available && *available < bytes)
    fail("too little host memory: the program needs {}, and {} bytes ({}) are available; {}", what,
         *available, gibibytes(*available), remedy);
  void *memory = nullptr;
  if (const CUresult result = functions.memHostAlloc(&memory, bytes, 0); result != CUDA_SUCCESS) {
    const char *name = nullptr;
    functions.getErrorName(result, &name);
    fail("{} cannot be had ({}); {}", what, name ? name : "unknown error", remedy);
  }
  pinned.push_back(memory);
  pinnedTotal += bytes;
  std::memset(memory, 0, bytes);
  return static_cast<char *>(memory);
}

template <typename Query> CUresult Gpu::poll(Query query) const {
  thread_local Yielder yielder; // copies wait on threads of their own
  CUresult result = query();
  for (int polls = 0; result == CUDA_ERROR_NOT_READY; result = query()) {
    watch->look();
    if (++polls < kEagerPolls)
      yielder.yield();
    else
      std::this_thread::sleep_for(kNap);
  }
  watch->rest();
  return result;
}

CUresult Gpu::waitForStream() const {
  return watch ? poll([&] { return functions.streamQuery(queue); }) : functions.streamSynchronize(queue);
}

CUresult Gpu::waitForEvent(CUevent event) const {
  return watch ? poll([&] { return functions.eventQuery(event); }) : functions.eventSynchronize(event);
}

void Gpu::note(const Function &function, int first, int end) {
  running = &function;
  runningFirst = first;
  runningEnd = end;
}

void Gpu::synchronize() const {
  const CUresult result = waitForStream();
  if (result == CUDA_SUCCESS)
    return;
  if (!running)
    functions.failWith(result, fmt::format("the GPU '{}' stopped", deviceName));
  const auto place = [&](int launch) { return running->launches[static_cast<size_t>(launch)].loc; };
  functions.failWith(result,
                     fmt::format("the GPU '{}' stopped in launches {} ({}) to {} ({}) of @{}; with "
                                 "KEDGE_CUDA_SYNC=1 in its environment the program names the very launch",
                                 deviceName, runningFirst, place(runningFirst), runningEnd - 1,
                                 place(runningEnd - 1), running->name));
}

} // namespace kedge::rt::cuda
