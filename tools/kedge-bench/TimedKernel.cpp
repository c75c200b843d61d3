#include "tools/kedge-bench/TimedKernel.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/InitAllDialects.h"
#include "lib/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include "runtime/exec/ThreadPool.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/mman.h>

using namespace mlir;

namespace kedge::bench {

double TimedKernel::bestSeconds() {
  using Clock = std::chrono::steady_clock;
  run();
  double best = 1e9, all = 0;
  for (int i = 0; i < 2 || (all < 0.3 && i < 100000); ++i) {
    auto begin = Clock::now();
    run();
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    all += seconds;
  }
  return best;
}

char *TimedKernel::allocate(size_t bytes) {
  constexpr size_t hugePage = size_t(1) << 21;
  const size_t unit = bytes >= 2 * hugePage ? hugePage : 64; // as a program's arena has them
  auto *block = static_cast<char *>(std::aligned_alloc(unit, (bytes + unit) / unit * unit));
  if (!block)
    fail("calibrate: no memory for an operand of {} bytes", bytes);
  if (unit == hugePage)
    madvise(block, (bytes + unit) / unit * unit, MADV_HUGEPAGE);
  memory.emplace_back(block);
  std::memset(block, 0, bytes);
  return block;
}

void TimedKernel::fillFloats(void *memory, int64_t count) {
  uint32_t state = 12345;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    static_cast<float *>(memory)[i] = static_cast<float>(state >> 8) / (1 << 23) - 1.0f;
  }
}

LibraryTiming::LibraryTiming(const rt::calls::LibraryCall &call, int threads)
    : callWork(rt::calls::workOf(call)), kernel(rt::calls::makeKernel(call, threads)) {
  for (const rt::TensorDesc &desc : call.inputs) {
    char *operand = allocate(desc.bytes());
    if (desc.type == rt::DType::F32)
      fillFloats(operand, desc.elements());
    inputs.push_back(operand);
  }
  for (const rt::TensorDesc &desc : call.outputs)
    outputs.push_back(allocate(desc.bytes()));
  workspace = allocate(kernel->workspaceBytes());
}

ClusterTiming::ClusterTiming(const std::string &function, int threads) : threads(threads) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  auto source = parseSourceString<ModuleOp>(function, &context);
  if (!source)
    fail("calibrate: a cluster's text does not parse");
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(source->getLoc());
  lower::KernelEmitter emitter(*kernels);
  std::string name;
  source->walk([&](sched::ClusterOp cluster) {
    FailureOr<lower::KernelInfo> emitted = emitter.emit(cluster);
    if (failed(emitted))
      fail("calibrate: a kernel could not be generated (above)");
    name = emitted->name, iterations = emitted->iterations, grain = emitted->grain;
    for (Value operand : cluster->getOperands())
      fillFloats(
          arguments.emplace_back(allocate(4 * cast<RankedTensorType>(operand.getType()).getNumElements())),
          cast<RankedTensorType>(operand.getType()).getNumElements());
    for (Value result : cluster->getResults())
      arguments.push_back(allocate(4 * cast<RankedTensorType>(result.getType()).getNumElements()));
  });
  FailureOr<ObjectFiles> objects = lower::compileKernels(*kernels, lower::KernelTarget::host());
  if (failed(objects))
    fail("calibrate: the error above ended code generation");
  program = lower::JitProgram::create(*objects);
  kernel = program->lookup(name);
}

void ClusterTiming::run() {
  int64_t blocks = (iterations + grain - 1) / grain;
  rt::parallelFor(threads, blocks, 1, [&](int64_t begin, int64_t end) {
    kernel(arguments.data(), begin * grain, std::min(iterations, end * grain));
  });
}

} // namespace kedge::bench
