#include "runtime/cuda/LaunchTable.h"
#include "runtime/cuda/library/CollectiveLaunch.h"
#include "runtime/cuda/library/CopyLaunch.h"
#include <algorithm>

namespace kedge::rt::cuda {
using namespace calls;

std::string ReadyLaunch::name() const {
  const std::string what = !source->library.empty() ? source->library
                           : !kernels.empty()       ? "kernel " + kernels.front().shape->name
                                                    : "an empty launch";
  return source->loc.empty() ? what : what + " at " + source->loc;
}

void ReadyLaunch::enqueue(int first) const {
  if (library)
    library->enqueue();
  if (library && !library->leavesKernels())
    return;
  bool early = behind >= first;
  for (const Kernel &kernel : kernels) {
    start(kernel, kernel.arguments.data(), stream, early);
    early = chain;
  }
}

void ReadyLaunch::enqueueOn(const OperandBlocks &blocks) const {
  for (const Kernel &kernel : kernels) {
    std::vector<CUdeviceptr> moved;
    for (CUdeviceptr operand : kernel.operands)
      moved.push_back(blocks.at(operand));
    std::vector<void *> arguments;
    for (CUdeviceptr &operand : moved)
      arguments.push_back(&operand);
    start(kernel, arguments.data(), gpu->stream(), /*early=*/false); // takes the arguments' values
  }
}

void ReadyLaunch::start(const Kernel &kernel, void *const *arguments, CUstream on, bool early) const {
  const auto &grid = kernel.shape->grid, &block = kernel.shape->block;
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
  config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
  config.hStream = on;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const CUresult result =
      early ? gpu->driver().launchKernelEx(&config, kernel.function, const_cast<void **>(arguments), nullptr)
            : gpu->driver().launchKernel(kernel.function, grid[0], grid[1], grid[2], block[0], block[1],
                                         block[2], 0, on, const_cast<void **>(arguments), nullptr);
  if (result != CUDA_SUCCESS)
    gpu->driver().failWith(result, fmt::format("{} (grid {}x{}x{}, block {}x{}x{}) does not start", name(),
                                               grid[0], grid[1], grid[2], block[0], block[1], block[2]));
}

LaunchTable::LaunchTable(Gpu &gpu, const Program &program, const Module &module, CUdeviceptr arena,
                         const HostArena *hostArena, FileCopies *files, const CopyStreams &streams,
                         const AlgorithmTable &table, NcclRanks *ranks)
    : gpu(gpu), arena(arena), hostArena(hostArena), files(files), streams(streams), table(table),
      ranks(ranks), maps(gpu, program) {
  for (const auto &[name, function] : program.functions) {
    std::vector<ReadyLaunch> &list = functions[&function];
    for (const Launch &launch : function.launches) {
      list.emplace_back(gpu, launch, streams.stream(launch.stream));
      if (launch.onGpu)
        bindKernels(list.back(), launch, module);
      if (launch.hostArg >= 0)
        bindCopy(list.back(), launch);
      else if (!launch.onGpu || isMatmul(launch.library))
        bindLibrary(list.back(), launch);
      if (launch.library == "train.accumulate_product")
        noteMicro(program, function, launch);
    }
    if (program.target.dependentLaunches)
      startEarly(function, list);
  }
  placeOversized();
  maps.send();
}

/// Of kernels that follow kernels on their stream, with nothing between that they wait for: the driver orders
/// what follows a copy, a library or an event.
void LaunchTable::startEarly(const Function &function, std::vector<ReadyLaunch> &list) {
  std::array<int, kStreams> last; ///< the launch before it on each stream, where that ends with a kernel
  last.fill(-1);
  for (size_t at = 0; at < list.size(); ++at) {
    ReadyLaunch &ready = list[at];
    const Launch &launch = function.launches[at];
    int &before = last[static_cast<size_t>(launch.stream)];
    ready.chain = true;
    if (!ready.library && launch.waits.empty())
      ready.behind = before;
    if (ready.library || !ready.kernels.empty() || !launch.waits.empty())
      before = ready.library || ready.kernels.empty() ? -1 : static_cast<int>(at);
  }
}

/// The host decides by this number, so it must be one that the host writes.
void LaunchTable::noteMicro(const Program &program, const Function &function, const Launch &launch) {
  const uint64_t place = launch.args.at(static_cast<size_t>(
      matmulCallsOf({launch.library, launch.attrs, launch.inputs, launch.outputs}).micro));
  const auto isIt = [&](const ScalarSlot &slot) { return slot.name == "micro" && slot.offset == place; };
  if (std::none_of(program.scalars.begin(), program.scalars.end(), isIt))
    fail("the program is damaged: {} at {} is not given the number of the micro-batch", launch.library,
         launch.loc);
  micros[&function] = place;
}

std::optional<uint64_t> LaunchTable::microOf(const Function &function) const {
  const auto found = micros.find(&function);
  return found == micros.end() ? std::nullopt : std::optional(found->second);
}

void LaunchTable::bindKernels(ReadyLaunch &ready, const Launch &launch, const Module &module) {
  for (const GpuKernel &source : launch.kernels) {
    ReadyLaunch::Kernel kernel;
    kernel.function = module.kernel(source.name);
    kernel.shape = &source;
    for (const GpuKernel::Operand &operand : source.operands) {
      if (operand.map) {
        if (operand.map->argument >= launch.args.size())
          fail("the program is damaged: a tensor map of kernel '{}' is of an argument {} that its launch "
               "lacks",
               source.name, operand.map->argument);
        kernel.operands.push_back(maps.add(*operand.map, arena + launch.args[operand.map->argument]));
        continue;
      }
      if (operand.workspace ? operand.value > launch.workspaceBytes : operand.value >= launch.args.size())
        fail("the program is damaged: kernel '{}' names an operand {} that its launch lacks", source.name,
             operand.value);
      kernel.operands.push_back(arena + (operand.workspace
                                             ? launch.workspaceOffset + operand.value
                                             : launch.args[static_cast<size_t>(operand.value)]));
    }
    for (CUdeviceptr &operand : kernel.operands)
      kernel.arguments.push_back(&operand);
    ready.kernels.push_back(std::move(kernel));
  }
}

LaunchPointers LaunchTable::pointersOf(const Launch &launch) const {
  LaunchPointers pointers;
  for (size_t i = 0; i < launch.args.size(); ++i)
    (i < launch.reads ? pointers.inputs : pointers.outputs).push_back(arena + launch.args[i]);
  pointers.workspace = arena + launch.workspaceOffset;
  pointers.workspaceBytes = launch.workspaceBytes;
  return pointers;
}

void LaunchTable::bindLibrary(ReadyLaunch &ready, const Launch &launch) {
  const LibraryCall call{launch.library, launch.attrs, launch.inputs, launch.outputs};
  if (isMatmul(launch.library)) {
    if (!products)
      products = std::make_unique<CublasLt>(gpu, table);
    ready.library = products->makeLaunch(call, pointersOf(launch));
  } else if (isConvolution(launch.library)) {
    if (!convolutions)
      convolutions = std::make_unique<Cudnn>(gpu);
    ready.library = convolutions->makeLaunch(call, pointersOf(launch));
  } else if (isAmongRanks(launch.library)) {
    ready.library = makeRankLaunch(gpu, ranks, launch, pointersOf(launch), streams.stream(launch.stream));
  } else {
    fail("the program is damaged: '{}' at {} has neither kernels nor a library for CUDA",
         launch.library.empty() ? launch.kernel : launch.library, launch.loc);
  }
}

void LaunchTable::bindCopy(ReadyLaunch &ready, const Launch &launch) {
  const bool toHost = launch.hostArg == 1;
  const CUdeviceptr here = arena + launch.args[toHost ? 0 : 1];
  const uint64_t there = launch.args[toHost ? 1 : 0], bytes = launch.outputs[0].bytes();
  const CUstream stream = streams.stream(launch.stream);
  if (hostArena->isOnDisk(there))
    ready.library = std::make_unique<FileCopyLaunch>(*files, launch.stream, stream, here,
                                                     hostArena->copyOf(there, nullptr, bytes, toHost));
  else
    ready.library = std::make_unique<CopyLaunch>(gpu, stream, here, hostArena->at(there), bytes, toHost);
}

/// Calls of libraries run one after the other, so those whose library wants more than was planned share one
/// block.
void LaunchTable::placeOversized() {
  for (auto &[function, list] : functions)
    for (const ReadyLaunch &ready : list)
      if (ready.library)
        extra = std::max(extra, ready.library->wantedWorkspaceBytes());
  if (extra == 0)
    return;
  const CUdeviceptr block = gpu.allocate(extra, "what libraries need beyond the plan");
  for (auto &[function, list] : functions) {
    for (ReadyLaunch &ready : list)
      if (ready.library && ready.library->wantedWorkspaceBytes() != 0)
        ready.library->setWorkspace(block, extra);
    shareCopies(list);
  }
}

void LaunchTable::shareCopies(std::vector<ReadyLaunch> &list) const {
  std::optional<LeftCopy> left;
  for (ReadyLaunch &ready : list) {
    if (ready.library && ready.library->wantedWorkspaceBytes() != 0) {
      const std::optional<LeftCopy> copy = ready.library->leftCopy();
      if (copy && copy == left)
        ready.library->reuseCopy();
      left = copy;
    }
    const Launch &launch = *ready.source;
    for (size_t i = 0; left && i < launch.outputs.size(); ++i)
      if (left->isOf(arena + launch.args.at(launch.reads + i), launch.outputs[i].bytes()))
        left.reset();
  }
}

} // namespace kedge::rt::cuda
