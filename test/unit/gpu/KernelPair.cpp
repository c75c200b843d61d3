#include "test/unit/gpu/KernelPair.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Cluster/KernelNames.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/JitProgram.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include "test/unit/gpu/GuardedMemory.h"
#include "test/unit/gpu/Numbers.h"
#include "llvm/ADT/StringSet.h"
#include <csignal>
#include <fmt/format.h>

using namespace mlir;

namespace kedge::test {

OwningOpRef<ModuleOp> parseClusters(MLIRContext &context, const std::string &text) {
  context.loadDialect<sched::SchedDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    throw std::runtime_error("the test's cluster does not parse: " + text);
  return module;
}

namespace {

using Buffers = std::vector<std::unique_ptr<GuardedMemory>>;

std::vector<char *> pointersTo(Buffers &buffers) {
  std::vector<char *> pointers;
  for (auto &buffer : buffers)
    pointers.push_back(buffer->data());
  return pointers;
}

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Rows of a tensor that the cluster does not walk to their ends: memory between rows.
struct Padding {
  int64_t width = 0, pitch = 0; ///< elements of a row in the domain and in memory
  size_t element = 0;

  static Padding of(sched::ClusterOp cluster, RankedTensorType type, AffineMap map) {
    const size_t element = std::max(1u, type.getElementTypeBitWidth() / 8);
    const int64_t pitch = type.getRank() ? type.getShape().back() : 1;
    int64_t width = pitch;
    if (map.getNumResults() > 0)
      if (auto dim = dyn_cast<AffineDimExpr>(map.getResults().back()))
        width = std::min(pitch, cluster.getDomain()[dim.getPosition()]);
    return {width, pitch, element};
  }

  bool isEmpty() const { return width == pitch; }

  /// The bytes with those between rows replaced.
  std::vector<char> filled(const char *data, size_t bytes, char with) const {
    std::vector<char> all(data, data + bytes);
    for (size_t row = 0; !isEmpty() && row < bytes; row += pitch * element)
      std::memset(all.data() + row + width * element, with, (pitch - width) * element);
    return all;
  }

  /// What lies between rows is as it was (bytes of `before`), or zero.
  bool isKept(const char *data, size_t bytes, char before) const {
    for (size_t at = 0; !isEmpty() && at < bytes; ++at)
      if (at / element % pitch >= size_t(width) && data[at] != before && data[at] != 0)
        return false;
    return true;
  }
};

/// Of the kernel that runs, for who is stopped by a guard page.
std::string &running() {
  static std::string text;
  return text;
}

void onFault(int) {
  static const char message[] = "\nout of bounds or of memory: ";
  if (write(2, message, sizeof message - 1) < 0 || write(2, running().data(), running().size()) < 0)
    _exit(3);
  _exit(2);
}

bool hasMath(sched::ClusterOp cluster) {
  return llvm::any_of(cluster.getBody().front(),
                      [](Operation &op) { return isa<math::MathDialect>(op.getDialect()); });
}

/// For each output the input that it may lie on and that no other lies on; -1 where there is none.
std::vector<int> overwritten(sched::ClusterOp cluster) {
  std::vector<int> inputs;
  for (OpResult result : cluster->getResults()) {
    int found = -1;
    for (auto [at, input] : llvm::enumerate(cluster.getInputs()))
      if (found < 0 && sched::bytesOf(input.getType()) == sched::bytesOf(result.getType()) &&
          !llvm::is_contained(inputs, int(at)) && sched::mayOverwrite(result, sched::rootOf(input)))
        found = int(at);
    inputs.push_back(found);
  }
  return inputs;
}

} // namespace

struct KernelPair::Cpu {
  std::vector<lower::KernelInfo> kernels;
  std::unique_ptr<lower::JitProgram> program;
};

KernelPair::KernelPair(ModuleOp module, StringRef arch) : cpu(std::make_unique<Cpu>()) {
  module.getContext()->loadDialect<mlir::gpu::GPUDialect>();
  OwningOpRef<ModuleOp> cpuKernels = ModuleOp::create(module.getLoc()),
                        gpuKernels = ModuleOp::create(module.getLoc());
  auto b = OpBuilder::atBlockBegin(gpuKernels->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
  lower::KernelEmitter cpuEmitter(*cpuKernels);
  lower::gpu::GpuEmitter gpuEmitter(kernels);
  llvm::StringSet<> known;
  module.walk([&](sched::ClusterOp cluster) {
    if (!known.insert(lower::kernelKey(cluster)).second)
      return;
    auto kernel = cpuEmitter.emit(cluster);
    auto launch = gpuEmitter.emit(cluster);
    if (failed(kernel) || failed(launch))
      fail("a kernel is not emitted");
    clusters.push_back(cluster);
    cpu->kernels.push_back(*kernel);
    launches.push_back(*launch);
  });
  auto objects = lower::compileKernels(*cpuKernels, lower::KernelTarget::host(), 1);
  if (failed(objects))
    fail("CPU kernels are not compiled");
  if (!objects->empty())
    cpu->program = lower::JitProgram::create(*objects);
  if (arch.empty())
    gpu = std::make_unique<GpuSimulator>(kernels);
  else
    ptx = std::make_unique<GpuPtx>(kernels, arch);
  std::signal(SIGSEGV, onFault);
}

KernelPair::~KernelPair() = default;

std::string KernelPair::text(size_t cluster) {
  std::string text;
  llvm::raw_string_ostream os(text);
  clusters[cluster]->print(os, OpPrintingFlags().useLocalScope());
  return text;
}

Removals KernelPair::removals(size_t cluster) {
  return ptx->removals([&] { return !compare(cluster, 1, 0.5f, 2).empty(); });
}

std::string KernelPair::compare(size_t number, unsigned seed, float low, float high) {
  sched::ClusterOp cluster = clusters[number];
  const lower::gpu::LaunchCode &launch = launches[number];
  running() = fmt::format("cluster {}, {}\n", cpu->kernels[number].name,
                          launch.kernels.empty() ? "nothing" : launch.kernels.front().name);
  std::mt19937 random(seed);
  Buffers onCpu, onGpu, again;
  std::vector<Padding> paddings;
  for (auto [value, map] :
       llvm::zip(cluster.getInputs(), cluster.getInputMaps().getAsValueRange<AffineMapAttr>()))
    paddings.push_back(Padding::of(cluster, tensorOf(value), map));
  for (auto [value, map] :
       llvm::zip(cluster.getOutputs(), cluster.getOutputMaps().getAsValueRange<AffineMapAttr>()))
    paddings.push_back(Padding::of(cluster, tensorOf(value), map));
  auto add = [&](Value value, bool isInput) {
    RankedTensorType type = tensorOf(value);
    auto guard = seed % 2 ? GuardedMemory::Guard::End : GuardedMemory::Guard::Begin;
    for (Buffers *list : {&onCpu, &onGpu, &again}) {
      list->push_back(std::make_unique<GuardedMemory>(bytesOf(type), guard));
      std::memset(list->back()->data(), 0x11, bytesOf(type));
    }
    if (!isInput)
      return;
    fill(type, onCpu.back()->data(), random, low, high);
    // What lies between rows is no number, and must reach none.
    const size_t at = onCpu.size() - 1;
    const std::vector<char> poisoned = paddings[at].filled(onCpu[at]->data(), bytesOf(type), char(0xff));
    std::memcpy(onCpu[at]->data(), poisoned.data(), poisoned.size());
    for (Buffers *list : {&onGpu, &again})
      std::memcpy(list->back()->data(), onCpu.back()->data(), bytesOf(type));
  };
  for (Value input : cluster.getInputs())
    add(input, true);
  for (Value output : cluster.getOutputs())
    add(output, false);

  const lower::KernelInfo &kernel = cpu->kernels[number];
  std::vector<char *> arguments = pointersTo(onCpu);
  cpu->program->lookup(kernel.name)(arguments.data(), 0, kernel.iterations);
  if (ptx) {
    GuardedMemory workspace(launch.workspaceBytes, GuardedMemory::Guard::End);
    std::memset(workspace.data(), 0x7f, workspace.size());
    std::vector<llvm::MutableArrayRef<char>> tensors;
    for (auto &buffer : onGpu)
      tensors.emplace_back(buffer->data(), buffer->size());
    if (std::string wrong = ptx->run(launch, tensors, {workspace.data(), workspace.size()}); !wrong.empty())
      return wrong;
  }
  for (Buffers *list : ptx ? std::vector<Buffers *>() : std::vector{&onGpu, &again}) {
    GuardedMemory workspace(launch.workspaceBytes, GuardedMemory::Guard::End);
    std::memset(workspace.data(), list == &again ? 0xff : 0x7f, workspace.size());
    gpu->run(launch, pointersTo(*list), workspace.data());
  }

  bool reduces = !cluster.getBody().front().getOps<sched::ReduceOp>().empty();
  for (size_t at = 0; at < onGpu.size(); ++at) {
    size_t inputs = cluster.getInputs().size();
    if (!onGpu[at]->isPaddingWhole())
      return fmt::format("tensor {}: bytes behind it were written", at);
    if (at < inputs) {
      if (std::memcmp(onGpu[at]->data(), onCpu[at]->data(), onCpu[at]->size()) != 0)
        return fmt::format("input {} was written", at);
      continue;
    }
    if (gpu && std::memcmp(onGpu[at]->data(), again[at]->data(), onGpu[at]->size()) != 0)
      return fmt::format("output {}: two runs differ", at - inputs);
    RankedTensorType type = tensorOf(cluster.getOutputs()[at - inputs]);
    if (!paddings[at].isKept(onGpu[at]->data(), onGpu[at]->size(), 0x11))
      return fmt::format("output {}: something else than zeros was written between rows", at - inputs);
    const std::vector<char> expected = paddings[at].filled(onCpu[at]->data(), onCpu[at]->size(), 0),
                            found = paddings[at].filled(onGpu[at]->data(), onGpu[at]->size(), 0);
    // Another order of a sum, or an exponential of another device, may round a 16-bit float to its neighbour.
    const bool isShort = type.getElementType().isF16() || type.getElementType().isBF16();
    double unit = type.getElementType().isF16() ? 0x1p-10 : isShort ? 0x1p-7 : 1e-4;
    const bool isNear = reduces || (ptx && isShort && hasMath(cluster));
    std::string text =
        difference(type, expected.data(), found.data(), isNear ? unit : 1e-6, reduces ? 1e-5 : 1e-7);
    if (!text.empty())
      return fmt::format("output {}: {}", at - inputs, text);
  }

  if (ptx)
    return "";

  // Once more with outputs on the inputs that they may overwrite.
  std::vector<int> places = overwritten(cluster);
  std::vector<char *> shared = pointersTo(again);
  for (size_t at = 0; at < places.size(); ++at)
    if (places[at] >= 0)
      shared[cluster.getInputs().size() + at] = shared[places[at]];
  GuardedMemory scratch(launch.workspaceBytes, GuardedMemory::Guard::Begin);
  gpu->run(launch, shared, scratch.data());
  for (size_t at = 0; at < places.size(); ++at) {
    const size_t tensor = cluster.getInputs().size() + at;
    const size_t bytes = onGpu[tensor]->size();
    if (paddings[tensor].filled(shared[tensor], bytes, 0) !=
        paddings[tensor].filled(onGpu[tensor]->data(), bytes, 0))
      return fmt::format("output {} on input {}: another result than beside it", at, places[at]);
  }
  return "";
}

} // namespace kedge::test
