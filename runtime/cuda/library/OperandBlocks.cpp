#include "runtime/cuda/library/OperandBlocks.h"
#include <algorithm>
#include <set>

namespace kedge::rt::cuda {
namespace {

/// Bytes of the tensor that lies at an offset while the launch runs; 0 when nothing is known of it.
uint64_t bytesAt(const Program &program, const Function &function, int launch, uint64_t offset) {
  for (const BufferLife &buffer : function.buffers)
    if (buffer.space == rt::Space::Device && buffer.offset == offset && buffer.first <= launch &&
        launch <= buffer.last)
      return buffer.bytes;
  for (const State &state : program.states)
    if (state.space == rt::Space::Device && state.offset == offset)
      return state.desc.bytes();
  for (const ScalarSlot &scalar : program.scalars)
    if (scalar.offset == offset)
      return dtypeSize(scalar.type);
  for (const ResultSlot &result : program.results)
    if (result.offset == offset)
      return result.desc.bytes();
  return 0;
}

/// Whether its kernels are given every tensor of the launch.
bool isGivenAll(const Launch &launch) {
  std::set<uint64_t> given;
  for (const GpuKernel &kernel : launch.kernels)
    for (const GpuKernel::Operand &operand : kernel.operands)
      if (!operand.workspace)
        given.insert(operand.value);
  return !launch.kernels.empty() && given.size() == launch.args.size();
}

} // namespace

std::optional<OperandBlocks> OperandBlocks::of(Gpu &gpu, const Program &program, const Function &function,
                                               int at, CUdeviceptr arena) {
  const Launch &launch = function.launches[static_cast<size_t>(at)];
  if (!launch.onGpu || !isGivenAll(launch))
    return std::nullopt;
  std::vector<Range> wanted;
  for (size_t i = 0; i < launch.args.size(); ++i) {
    uint64_t bytes = bytesAt(program, function, at, launch.args[i]);
    if (i >= launch.reads)
      bytes = std::max<uint64_t>(bytes, launch.outputs[i - launch.reads].bytes());
    if (bytes == 0)
      return std::nullopt;
    wanted.push_back({launch.args[i], launch.args[i] + bytes});
  }
  if (launch.workspaceBytes != 0)
    wanted.push_back({launch.workspaceOffset, launch.workspaceOffset + launch.workspaceBytes});
  std::sort(wanted.begin(), wanted.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
  std::vector<Range> ranges;
  for (const Range &range : wanted)
    if (!ranges.empty() && range.begin < ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, range.end); // a result in its input's place
    else
      ranges.push_back(range);
  return OperandBlocks(gpu, arena, std::move(ranges));
}

OperandBlocks::OperandBlocks(Gpu &gpu, CUdeviceptr arena, std::vector<Range> list)
    : gpu(&gpu), arena(arena), ranges(std::move(list)) {
  const Driver &driver = gpu.driver();
  for (Range &range : ranges) {
    const uint64_t bytes = range.end - range.begin;
    driver.check(driver.memAlloc(&range.memory, bytes),
                 "an operand's own block of {} bytes cannot be allocated", bytes);
    driver.check(driver.memcpyDtoDAsync(range.memory, arena + range.begin, bytes, gpu.stream()),
                 "an operand cannot be copied to its own block");
  }
}

OperandBlocks::~OperandBlocks() {
  for (const Range &range : ranges)
    if (range.memory)
      gpu->driver().memFree(range.memory);
}

CUdeviceptr OperandBlocks::at(CUdeviceptr operand) const {
  const uint64_t offset = operand - arena;
  for (const Range &range : ranges)
    if (range.begin <= offset && offset < range.end)
      return range.memory + (offset - range.begin);
  fail("the program is damaged: a kernel's operand at {} is none of its launch's", offset);
}

void OperandBlocks::copyBack() const {
  for (const Range &range : ranges)
    gpu->driver().check(gpu->driver().memcpyDtoDAsync(arena + range.begin, range.memory,
                                                      range.end - range.begin, gpu->stream()),
                        "an operand cannot be copied from its own block");
}

} // namespace kedge::rt::cuda
