// libcuda.so.1 as tests have it: device memory is host memory, streams and graphs do what they are given as
// late as they may (Streams.h). Kernels run when the program exports `kedge_stub_kernel`, which finds a host
// function and its number of operands by name, or when KEDGE_STUB_KERNELS names a library of them
// (SimulatedKernels.h); else they are only recorded.
//   KEDGE_STUB_GPUS (1)  KEDGE_STUB_CAPABILITY (90)  KEDGE_STUB_DRIVER (13000)  KEDGE_STUB_FREE (bytes, 8
//   GiB) KEDGE_STUB_FORGET_WAITS (0)  KEDGE_STUB_EVENTS (microseconds from one event to the next, 500)
#include "kedge/abi.h"
#include "test/unit/cuda/stubs/PtxKernels.h"
#include "test/unit/cuda/stubs/SimulatedKernels.h"
#include "test/unit/cuda/stubs/Streams.h"
#include "test/unit/cuda/stubs/Worker.h"
#include <array>
#include <cuda.h>
#include <map>
#include <vector>

using namespace kedge::stub;

struct CUctx_st {};
struct CUmod_st {};
struct CUfunc_st {
  std::string name;
  KedgeKernel kernel = nullptr;
  int operands = 0;
  Simulated simulated; ///< runs instead of `kernel` where there is one
  bool loaded = false; ///< its code: with the first launch
};

namespace {

constexpr int64_t kTotal = int64_t(8) << 30;
CUctx_st theContext;
std::map<CUdeviceptr, size_t> allocations;
double clockMilliseconds = 0;
bool broken = false; ///< after an error of a kernel nothing works

CUresult result(const char *name) {
  const int code = failure(name);
  if (code >= 700 && code < 720)
    broken = true;
  return static_cast<CUresult>(code);
}

/// Puts work on a stream.
template <typename Work> CUresult perform(const char *name, CUstream stream, Work work) {
  if (broken)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (const CUresult code = result(name); code != CUDA_SUCCESS)
    return code;
  if (isPlain(*stream))
    work();
  else
    put(*stream, work);
  return CUDA_SUCCESS;
}

/// Where work is done aside: all that is on the streams.
void awaitWorker() {
  if (hasWorker())
    for (CUstream stream : streams())
      Worker::one().await(stream->pending);
}

/// What the driver takes of a launch without attributes, on every GPU from sm_80 on.
bool isLaunchable(std::array<unsigned, 3> grid, std::array<unsigned, 3> block, int64_t sharedBytes) {
  constexpr unsigned kMostBlocks[] = {2147483647, 65535, 65535}, kMostThreads[] = {1024, 1024, 64};
  for (size_t dim = 0; dim < 3; ++dim)
    if (grid[dim] == 0 || grid[dim] > kMostBlocks[dim] || block[dim] == 0 || block[dim] > kMostThreads[dim])
      return false;
  return block[0] * block[1] * block[2] <= 1024 && sharedBytes <= 48 * 1024;
}

/// What no thread may do while it records a graph.
bool isForbidden() { return !recordings().empty(); }

int64_t freeBytes() {
  int64_t used = 0;
  for (const auto &[memory, bytes] : allocations)
    used += static_cast<int64_t>(bytes);
  return setting("KEDGE_STUB_FREE", kTotal) - used;
}

/// True when [memory, memory + bytes) lies in one allocation.
void expectAllocated(CUdeviceptr memory, size_t bytes, const char *what) {
  auto found = allocations.upper_bound(memory);
  if (found != allocations.begin() && memory + bytes <= std::prev(found)->first + std::prev(found)->second)
    return;
  std::fprintf(stderr, "stub driver: %s of %zu bytes at %llx lies outside every allocation\n", what, bytes,
               memory);
  std::abort();
}

void *host(CUdeviceptr memory) { return reinterpret_cast<void *>(memory); }

/// Around every allocation lie bytes that nobody may write, and who reads them as floats reads NaN.
constexpr size_t kGuard = 1024;

void expectWhole(CUdeviceptr memory) {
  const auto found = allocations.find(memory);
  if (found == allocations.end())
    return;
  const auto *begin = static_cast<const unsigned char *>(host(memory)), *end = begin + found->second;
  for (size_t i = 0; i < kGuard; ++i)
    if (begin[-static_cast<ptrdiff_t>(i) - 1] != 0xff || end[i] != 0xff) {
      std::fprintf(stderr, "stub driver: bytes beside an allocation of %zu bytes were written\n",
                   found->second);
      std::abort();
    }
}

/// What a kernel may touch.
std::vector<std::span<char>> everything() {
  std::vector<std::span<char>> all;
  for (const auto &[memory, bytes] : allocations)
    all.emplace_back(static_cast<char *>(host(memory)), bytes);
  return all;
}

CUfunc_st functionNamed(const char *name) {
  CUfunc_st function{name, nullptr, 0, simulated(name), false};
  if (function.simulated)
    return function;
  using Find = KedgeKernel (*)(const char *, int *);
  if (auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "kedge_stub_kernel")))
    function.kernel = find(name, &function.operands);
  return function;
}

} // namespace

extern "C" {

/// For the other stand-ins.
void kedge_stub_enqueue(std::function<void()> *work, CUstream stream) { put(*stream, *work); }
/// Keeps `what` as long as there is a graph that the stream is recorded in, or a run of it; drops it if there
/// is none.
void kedge_stub_hold(std::shared_ptr<void> *what, CUstream stream) {
  const std::lock_guard lock(guard());
  if (stream->graph)
    stream->graph->held.push_back(std::move(*what));
}
/// From now on work is done while the program goes on.
void kedge_stub_work_aside() { Worker::one(); }

CUresult cuInit(unsigned) {
  record("cuInit");
  if (setting("KEDGE_STUB_GPUS", 1) == 0)
    return CUDA_ERROR_NO_DEVICE;
  return result("cuInit");
}
CUresult cuDriverGetVersion(int *version) {
  *version = static_cast<int>(setting("KEDGE_STUB_DRIVER", 13000));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char **name) {
  static char text[64];
  std::snprintf(text, sizeof(text), "CUDA_ERROR_%d", static_cast<int>(code));
  *name = text;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "an error that a test asked for";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  *count = static_cast<int>(setting("KEDGE_STUB_GPUS", 1));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "Stub GPU");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  const int capability = static_cast<int>(setting("KEDGE_STUB_CAPABILITY", 90));
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : capability % 10;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
  std::snprintf(text, static_cast<size_t>(length), "0000:%02d:00.0", device + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = &theContext;
  return result("cuDevicePrimaryCtxRetain");
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  record("cuDevicePrimaryCtxRelease allocations %zu", allocations.size());
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
  const bool isText =
      static_cast<const char *>(image)[0] == '/' || static_cast<const char *>(image)[0] == '.';
  record("cuModuleLoadDataEx %s", isText ? "ptx" : "cubin");
  *module = new CUmod_st;
  return result("cuModuleLoadDataEx");
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  if (std::strncmp(name, "missing", 7) == 0)
    return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st(functionNamed(name));
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  const int64_t left = freeBytes();
  *free = left > 0 ? static_cast<size_t>(left) : 0;
  *total = kTotal;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *memory, size_t bytes) {
  record("cuMemAlloc %zu", bytes);
  if (isForbidden())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (const CUresult code = result("cuMemAlloc"); code != CUDA_SUCCESS)
    return code;
  char *block = static_cast<char *>(std::aligned_alloc(256, (bytes + 255) / 256 * 256 + 2 * kGuard));
  std::memset(block, 0xff, bytes + 2 * kGuard);
  *memory = reinterpret_cast<CUdeviceptr>(block + kGuard);
  std::memset(host(*memory), 0xcd, bytes);
  allocations[*memory] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  awaitWorker();
  for (CUstream stream : streams())
    if (!hasWorker())
      finish(stream->pending);
  expectWhole(memory);
  if (allocations.erase(memory) != 1)
    std::abort();
  std::free(static_cast<char *>(host(memory)) - kGuard);
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  record("cuMemHostAlloc %zu", bytes);
  if (isForbidden())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  *memory = std::malloc(bytes);
  return result("cuMemHostAlloc");
}
CUresult cuMemFreeHost(void *memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  record("cuMemcpyHtoDAsync %zu", bytes);
  expectAllocated(to, bytes, "a copy");
  return perform("cuMemcpyHtoDAsync", stream, [=] { std::memcpy(host(to), from, bytes); });
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  record("cuMemcpyDtoHAsync %zu", bytes);
  expectAllocated(from, bytes, "a copy");
  return perform("cuMemcpyDtoHAsync", stream, [=] { std::memcpy(to, host(from), bytes); });
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  record("cuLaunchHostFunc");
  return perform("cuLaunchHostFunc", stream, [=] { function(data); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  record("cuMemcpyDtoDAsync %zu", bytes);
  return perform("cuMemcpyDtoDAsync", stream, [=] { std::memmove(host(to), host(from), bytes); });
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
  record("cuMemcpy2DAsync %zu x %zu", copy->WidthInBytes, copy->Height);
  if (copy->WidthInBytes > copy->dstPitch || copy->WidthInBytes > copy->srcPitch)
    return CUDA_ERROR_INVALID_VALUE;
  return perform("cuMemcpy2DAsync", stream, [c = *copy] {
    for (size_t row = 0; row < c.Height; ++row)
      std::memmove(host(c.dstDevice + row * c.dstPitch), host(c.srcDevice + row * c.srcPitch),
                   c.WidthInBytes);
  });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  record("cuMemsetD8Async %zu", bytes);
  expectAllocated(to, bytes, "a memset");
  return perform("cuMemsetD8Async", stream, [=] { std::memset(host(to), value, bytes); });
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  record("cuMemsetD2D16Async %zu x %zu", width, height);
  if (width * 2 > pitch || to % 2 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  expectAllocated(to, height == 0 ? 0 : (height - 1) * pitch + width * 2, "a memset");
  return perform("cuMemsetD2D16Async", stream, [=] {
    for (size_t row = 0; row < height; ++row)
      std::fill_n(static_cast<unsigned short *>(static_cast<void *>(host(to + row * pitch))), width, value);
  });
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  const std::lock_guard lock(guard());
  *stream = new CUstream_st;
  (*stream)->first = streams().empty();
  streams().push_back(*stream);
  return result("cuStreamCreate");
}
CUresult cuStreamDestroy(CUstream stream) {
  awaitWorker();
  const std::lock_guard lock(guard());
  if (!stream->first && isForgotten(*stream) && !std::getenv("KEDGE_STUB_FAIL")) {
    std::fprintf(stderr, "stub driver: work on a stream was never waited for\n");
    std::abort();
  }
  std::erase(streams(), stream);
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  record("cuStreamCreateWithPriority %d", priority);
  return cuStreamCreate(stream, flags);
}
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  if (stream->graph)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (hasWorker() && !Worker::one().isDone(stream->pending))
    return CUDA_ERROR_NOT_READY;
  if (!hasWorker())
    finish(stream->pending);
  return broken ? CUDA_ERROR_ILLEGAL_ADDRESS : result("cuStreamQuery");
}
CUresult cuStreamSynchronize(CUstream stream) {
  record("cuStreamSynchronize");
  if (stream->graph)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (hasWorker())
    Worker::one().await(stream->pending);
  else
    finish(stream->pending);
  return broken ? CUDA_ERROR_ILLEGAL_ADDRESS : result("cuStreamSynchronize");
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  record("cuStreamWaitEvent");
  if (setting("KEDGE_STUB_FORGET_WAITS", 0) != 0)
    return CUDA_SUCCESS;
  return waitEvent(*stream, *event);
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  record("cuStreamBeginCapture");
  const std::lock_guard lock(guard());
  recordings().insert(stream->graph = new CUgraph_st);
  stream->kept = std::move(stream->pending);
  stream->pending.clear();
  return result("cuStreamBeginCapture");
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  record("cuStreamEndCapture %zu", stream->graph->work);
  CUgraph recorded = stream->graph;
  *graph = nullptr;
  if (const CUresult code = endRecording(*stream); code != CUDA_SUCCESS) {
    delete recorded; // as the driver does: it gives no graph away
    return code;
  }
  *graph = recorded;
  return result("cuStreamEndCapture");
}
CUresult cuGraphInstantiate(CUgraphExec *made, CUgraph graph, unsigned long long) {
  *made = new CUgraphExec_st{std::make_shared<const CUgraph_st>(*graph)};
  return result("cuGraphInstantiate");
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
/// Waits for nothing: what still runs is freed when it has come to its end.
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  record("cuGraphExecDestroy");
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  record("cuGraphLaunch %zu", graph->graph->work);
  if (broken)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (const CUresult code = result("cuGraphLaunch"); code != CUDA_SUCCESS)
    return code;
  if (isPlain(*stream))
    replay(*graph->graph);
  else
    put(*stream, [shared = graph->graph] { replay(*shared); });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  recordEvent(*event, *stream);
  event->milliseconds = clockMilliseconds += static_cast<double>(setting("KEDGE_STUB_EVENTS", 500)) / 1e3;
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  record("cuEventSynchronize");
  if (isForbidden())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (event->graph)
    return CUDA_ERROR_CAPTURED_EVENT;
  if (event->at && hasWorker())
    Worker::one().await({event->at});
  else if (event->at)
    perform(*event->at);
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  if (!hasWorker())
    return cuEventSynchronize(event);
  return !event->at || event->at->finished ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  *milliseconds = static_cast<float>(end->milliseconds - begin->milliseconds);
  return CUDA_SUCCESS;
}

/// Takes what the header of the driver asks for of maps with rows of 128 bytes, strides in ascending order.
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  record("cuTensorMapEncodeTiled rank %u", rank);
  const bool isHalf = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || reinterpret_cast<uintptr_t>(address) % 16 != 0 ||
      !isHalf || rank < 1 || rank > 5 || swizzle != CU_TENSOR_MAP_SWIZZLE_128B || box[0] * 2 > 128)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t least = sizes[0] * 2;
  for (cuuint32_t dim = 0; dim < rank; ++dim) {
    if (sizes[dim] == 0 || sizes[dim] > (uint64_t(1) << 32) || box[dim] == 0 || box[dim] > 256 ||
        steps[dim] != 1)
      return CUDA_ERROR_INVALID_VALUE;
    if (dim == 0)
      continue;
    const uint64_t stride = strides[dim - 1];
    if (stride % 16 != 0 || stride >= (uint64_t(1) << 40) || stride < least)
      return CUDA_ERROR_INVALID_VALUE;
    least = stride * sizes[dim];
  }
  std::memset(map, 0x5a, sizeof *map);
  if (hasPtx())
    encodeForPtx(*map, reinterpret_cast<uint64_t>(address), {sizes, rank}, {strides, rank - 1}, {box, rank});
  return CUDA_SUCCESS;
}

/// What comes behind a kernel may be started before its end, and waits for it: here it begins behind it.
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
  record("cuLaunchKernelEx %s attributes %u", function->name.c_str(), config->numAttrs);
  for (unsigned at = 0; at < config->numAttrs; ++at)
    if (config->attrs[at].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
        setting("KEDGE_STUB_CAPABILITY", 90) < 90)
      return CUDA_ERROR_INVALID_VALUE;
  if (hasPtx() && !waitsInPtx(function->name))
    stop("kernel " + function->name + " may start before the one in front of it is done, and does not wait");
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                        config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                        arguments, extra);
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned dynamic, CUstream stream, void **arguments, void **) {
  record("cuLaunchKernel %s grid %u %u %u block %u %u %u", function->name.c_str(), gx, gy, gz, bx, by, bz);
  if (!isLaunchable({gx, gy, gz}, {bx, by, bz},
                    dynamic + (function->simulated ? function->simulated->sharedBytes : 0)))
    return CUDA_ERROR_INVALID_VALUE;
  if (isForbidden() && !function->loaded)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  function->loaded = true;
  const size_t count = function->simulated ? static_cast<size_t>(function->simulated->operands)
                                           : static_cast<size_t>(function->operands);
  std::vector<char *> operands(count); // a launch takes its arguments' values
  for (size_t i = 0; i < count; ++i)
    operands[i] = *static_cast<char **>(arguments[i]);
  return perform("cuLaunchKernel", stream, [=] {
    if (function->simulated)
      runSimulated(*function->simulated, {gx, gy, gz}, {bx, by, bz}, operands, everything());
    else if (function->kernel)
      function->kernel(operands.data(), 0, static_cast<int64_t>(gx));
  });
}

} // extern "C"
