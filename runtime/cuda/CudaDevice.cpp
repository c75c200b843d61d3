#include "runtime/cuda/CudaDevice.h"
#include "runtime/comm/Launcher.h"
#include "runtime/cuda/GraphCache.h"
#include "runtime/cuda/LaunchTable.h"
#include "runtime/cuda/LaunchTimes.h"
#include "runtime/cuda/LayerRanges.h"
#include "runtime/cuda/Staging.h"
#include <cstdlib>
#include <cstring>

namespace kedge::rt::cuda {
using namespace calls;

namespace {

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && std::strcmp(value, "1") == 0;
}

/// The program's own entries, then those of the file that KEDGE_ALGORITHMS names.
AlgorithmTable tableOf(const Program &program) {
  AlgorithmTable table;
  table.add(program.target.algorithms, "the program's algorithms");
  if (const char *path = std::getenv("KEDGE_ALGORITHMS"); path && *path)
    table.addFile(path);
  return table;
}

std::vector<ByteRange> scalarRanges(const Program &program) {
  std::vector<ByteRange> stretches;
  for (const ScalarSlot &slot : program.scalars)
    stretches.push_back({slot.offset, dtypeSize(slot.type), 0});
  return stretches;
}

std::vector<ByteRange> inputRanges(const Program &program, const Function &function) {
  std::vector<ByteRange> stretches;
  for (const ArenaSlot &place : function.inputs) {
    const InputSpec *input = program.input(place.name);
    if (!input)
      fail("the program is damaged: @{} takes the input '{}', which the program lacks", function.name,
           place.name);
    stretches.push_back({place.offset, input->desc.bytes(), 0});
  }
  return stretches;
}

std::optional<HostArena> makeHostArena(Gpu &gpu, const Program &program, Communicator *communicator) {
  if (program.hostArenaBytes == 0)
    return std::nullopt;
  const uint64_t bytes = hostMemoryBytes(program);
  return std::make_optional<HostArena>(program, bytes != 0 ? gpu.allocateHostArena(bytes) : nullptr,
                                       communicator ? static_cast<int>(communicator->world().rank) : 0);
}

class CudaDevice final : public Device, private LaunchSequence {
public:
  CudaDevice(const Program &program, const ProgramImage &image, Communicator *communicator)
      : program(program), gpu(program.target.arch, communicator ? launchedAs(true).localRank : 0),
        atStart(gpu.memory()),
        ranks(communicator ? std::make_unique<NcclRanks>(gpu, program, *communicator) : nullptr),
        arena(gpu.allocate(program.arenaBytes, "the program's arena")),
        host(makeHostArena(gpu, program, communicator)),
        files(diskBytes(program) != 0 ? std::make_unique<FileCopies>(gpu, diskStagingBytes(program))
                                      : nullptr),
        module(gpu, program.target, image), table(tableOf(program)), streams(gpu, program),
        launches(gpu, program, module, arena, host ? &*host : nullptr, files.get(), streams, table,
                 ranks.get()),
        graphs(gpu), times(gpu), scalars(gpu, scalarRanges(program), program.arenaAlign),
        results(gpu, program), ownBlocks(isSet("KEDGE_CUDA_BLOCKS")),
        launchByLaunch(ownBlocks || isSet("KEDGE_CUDA_SYNC")) {
    if (ranks)
      ranks->registerArena(arena, program.arenaBytes);
    for (const auto &[name, function] : program.functions)
      launched[&function].resize(function.launches.size());
    for (const auto &[name, function] : program.functions)
      inputs.try_emplace(&function, gpu, inputRanges(program, function), program.arenaAlign);
    gpu.synchronize();
    ready = gpu.memory();
  }

  /// NCCL leaves or aborts a group only when no graph holds calls of it any more. What waits for other ranks
  /// ends before memory is freed, which would wait for it.
  ~CudaDevice() override {
    graphs.clear();
    ranks.reset();
    if (files) // the driver may be at one
      gpu.waitForStream();
  }

  const char *read(uint64_t offset, uint64_t bytes) override {
    if (const char *result = results.read(arena, offset, bytes))
      return result;
    const Driver &driver = gpu.driver();
    scratch.resize(std::max<size_t>(bytes, 1));
    if (bytes != 0)
      driver.check(driver.memcpyDtoHAsync(scratch.data(), arena + offset, bytes, gpu.stream()),
                   "{} bytes cannot be copied from the GPU", bytes);
    synchronize();
    return scratch.data();
  }

  char *beginWrite(uint64_t offset, uint64_t bytes) override {
    writeOffset = offset;
    scratch.resize(std::max<size_t>(bytes, 1));
    writeBytes = bytes;
    return scratch.data();
  }

  void endWrite() override {
    const Driver &driver = gpu.driver();
    if (writeBytes != 0)
      driver.check(driver.memcpyHtoDAsync(arena + writeOffset, scratch.data(), writeBytes, gpu.stream()),
                   "{} bytes cannot be copied to the GPU", writeBytes);
    gpu.synchronize();
    results.expire();
  }

  void fill(uint64_t offset, uint64_t bytes, unsigned char value) override {
    gpu.driver().check(gpu.driver().memsetD8Async(arena + offset, value, bytes, gpu.stream()),
                       "bytes cannot be set");
  }

  HostArena *hostArena() override {
    if (!host)
      return nullptr;
    synchronize();
    return &*host;
  }

  char *input(const Function &function, const ArenaSlot &place) override {
    return inputs.find(&function)->second.at(place.offset);
  }
  char *scalar(const ScalarSlot &slot) override { return scalars.at(slot.offset); }

  void begin(const Function &function) override {
    if (files)
      files->check();
    if (host)
      host->letGo();
    noteMicro(function);
    scalars.send(arena);
    inputs.find(&function)->second.send(arena);
  }

  void run(const Function &function, int first, int end, LaunchTimer *timer) override {
    results.expire();
    gpu.note(function, first, end);
    std::vector<int64_t> &times = launched.find(&function)->second;
    for (int i = first; i < end; ++i)
      ++times[static_cast<size_t>(i)];
    const LayerRange range(function.name);
    if (launchByLaunch)
      runOneByOne(function, first, end);
    else if (timer)
      runTimed(function, first, end, *timer);
    else
      graphs.run(function, first, end, launches.microOf(function) && isFirstMicro, *this);
  }

  bool isAsynchronous() const override { return !launchByLaunch; }
  int64_t timesLaunched(const Function &function, int launch) const override {
    return launched.find(&function)->second[static_cast<size_t>(launch)];
  }
  uint64_t extraWorkspaceBytes() const override { return launches.extraBytes(); }
  std::vector<DeviceReservation> reservations() override;
  nlohmann::json memoryFigures() override;

private:
  /// Errors of copies to and from files come to light where the host waits.
  void synchronize() {
    gpu.synchronize();
    if (files)
      files->check();
  }

  /// Products that add to what earlier micro-batches summed replace it in the first: the host settles that.
  void noteMicro(const Function &function) {
    const auto place = launches.microOf(function);
    if (!place)
      return;
    if (const char *number = scalars.fresh(*place)) {
      int64_t micro = 0;
      std::memcpy(&micro, number, sizeof(micro));
      isFirstMicro = micro == 0;
    }
    launches.setFirstMicro(isFirstMicro);
  }

  const ReadyLaunch &launch(const Function &function, int at) const {
    return launches.of(function)[static_cast<size_t>(at)];
  }

  void enqueue(const Function &function, int first, int end) override {
    streams.begin(function, first, end);
    for (int i = first; i < end; ++i) {
      const LayerRange range(function.launches[static_cast<size_t>(i)].loc);
      streams.before(i);
      launch(function, i).enqueue(first);
      streams.after(i);
    }
    streams.finish();
  }

  /// So that an error is told where it arises (KEDGE_CUDA_SYNC=1).
  void runOneByOne(const Function &function, int first, int end) {
    const Driver &driver = gpu.driver();
    for (int i = first; i < end; ++i) {
      if (!ownBlocks || !runOnBlocks(function, i))
        enqueue(function, i, i + 1);
      driver.check(gpu.waitForStream(), "launch {} of @{}, {}, failed", i, function.name,
                   launch(function, i).name());
    }
  }

  /// Whether the launch could be given blocks of its own for its operands (KEDGE_CUDA_BLOCKS=1).
  bool runOnBlocks(const Function &function, int at) {
    const auto blocks = OperandBlocks::of(gpu, program, function, at, arena);
    onArena += !blocks && !function.launches[static_cast<size_t>(at)].kernels.empty();
    if (!blocks)
      return false;
    ++onBlocks;
    launch(function, at).enqueueOn(*blocks);
    blocks->copyBack();
    gpu.driver().check(gpu.waitForStream(), "launch {} of @{}, {}, failed", at, function.name,
                       launch(function, at).name());
    return true;
  }

  void runTimed(const Function &function, int first, int end, LaunchTimer &timer) {
    for (int i = first; i < end; ++i) {
      times.mark();
      enqueue(function, i, i + 1);
    }
    times.mark();
    times.report(function, first, timer);
  }

  const Program &program;
  Gpu gpu;
  Gpu::MemoryInfo atStart, ready;   ///< before the arena; before the first step
  std::unique_ptr<NcclRanks> ranks; ///< null in a world of one
  CUdeviceptr arena;
  std::optional<HostArena> host;
  std::unique_ptr<FileCopies> files; ///< null when no state is in a file
  Module module;
  AlgorithmTable table;
  CopyStreams streams;
  LaunchTable launches;
  GraphCache graphs;
  LaunchTimes times;
  DoubleBlock scalars;
  ResultBlock results;
  std::map<const Function *, DoubleBlock> inputs;
  std::map<const Function *, std::vector<int64_t>> launched; ///< how often each launch has begun
  std::vector<char> scratch;
  uint64_t writeOffset = 0, writeBytes = 0;
  bool isFirstMicro = false;
  bool ownBlocks;
  int64_t onBlocks = 0, onArena = 0; ///< launches of generated kernels with ownBlocks
  bool launchByLaunch;               ///< ...waiting for each
};

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

std::vector<DeviceReservation> CudaDevice::reservations() {
  std::vector<DeviceReservation> list;
  if (const auto context = gpu.contextBytes())
    list.push_back(
        {"cuda_context", *context, "measured: the driver's count around the making of the context"});
  else
    list.push_back({"cuda_context", 0, "unknown: libnvidia-ml.so.1 is not there to tell"});
  const uint64_t group = ranks ? ranks->memoryBytes() : 0;
  const uint64_t known = program.arenaBytes + launches.extraBytes() + group;
  list.push_back(
      {"cuda_code_and_libraries", minus(minus(atStart.free, ready.free), known),
       "measured: free memory of the GPU around the loading of kernels and libraries, less the arena"});
  if (launches.extraBytes() != 0)
    list.push_back({"library_workspaces", launches.extraBytes(),
                    "computed: what cuDNN and padded products need beyond the plan"});
  if (ranks)
    list.push_back(
        {"nccl", group,
         "measured: free memory of the GPU around the making of the group and its first collectives"});
  list.push_back({"cuda_steps", minus(ready.free, gpu.memory().free),
                  "measured: free memory of the GPU before the first step, less that at the end"});
  return list;
}

nlohmann::json CudaDevice::memoryFigures() {
  const Gpu::MemoryInfo now = gpu.memory();
  nlohmann::json figures = {{"name", gpu.name()},
                            {"planned_bytes", program.arenaBytes},
                            {"allocated_bytes", program.arenaBytes + launches.extraBytes()},
                            {"page_locked_bytes", gpu.pinnedBytes()},
                            {"total_bytes", now.total},
                            {"free_bytes", now.free}};
  const auto process = gpu.processBytes();
  figures["product_algorithms"] = launches.productChoices();
  if (ranks)
    figures["nccl"] = ranks->figures();
  if (ownBlocks)
    figures["own_blocks"] = {{"launches", onBlocks}, {"others", onArena}};
  figures["process_bytes"] = process ? nlohmann::json(*process) : nlohmann::json();
  return figures;
}

} // namespace

std::unique_ptr<Device> makeCudaDevice(const Program &program, const ProgramImage &image, int,
                                       Communicator *communicator) {
  if (program.target.kind != "cuda")
    fail("the program is damaged: it is linked for CUDA, and was compiled for {}", program.target.kind);
  return std::make_unique<CudaDevice>(program, image, communicator);
}

} // namespace kedge::rt::cuda
