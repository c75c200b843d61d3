#include "driver/GpuTarget.h"
#include "kedge/Analysis/LibraryCall.h"
#include "kedge/Support/Error.h"
#include "passes/Lower/Gpu/LaunchGroups.h"
#include "runtime/io/Error.h"
#include "runtime/calls/LibraryWork.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kedge::driver {
namespace {

using lower::gpu::KernelLaunch;
using lower::gpu::LaunchCode;

mlir::gpu::GPUModuleOp moduleOf(ModuleOp host) {
  host.getContext()->loadDialect<mlir::gpu::GPUDialect>();
  for (auto module : host.getOps<mlir::gpu::GPUModuleOp>())
    return module;
  auto builder = OpBuilder::atBlockEnd(host.getBody());
  return mlir::gpu::GPUModuleOp::create(builder, host.getLoc(), "kernels");
}

void note(Operation *launch, const LaunchCode &code) {
  Builder builder(launch->getContext());
  SmallVector<Attribute> kernels;
  for (const KernelLaunch &kernel : code.kernels)
    kernels.push_back(lower::gpu::kernelAttr(builder, kernel));
  launch->setAttr("cuda.kernels", builder.getArrayAttr(kernels));
  launch->setAttr("kedge.workspace", builder.getI64IntegerAttr(code.workspaceBytes));
  launch->setAttr("kedge.kernel", builder.getStringAttr(code.kernels.empty() ? "nothing" : code.kernels.front().name));
}

void noteFlat(Operation *launch, const std::optional<lower::gpu::FlatCode> &flat) {
  launch->removeAttr("cuda.flat");
  Builder builder(launch->getContext());
  if (flat)
    launch->setAttr("cuda.flat", builder.getDictionaryAttr(
                                     {builder.getNamedAttr("function", builder.getStringAttr(flat->function)),
                                      builder.getNamedAttr("elements", builder.getI64IntegerAttr(flat->elements))}));
}

LogicalResult noteRuntimeCall(sched::LibraryOp call) {
  try {
    uint64_t bytes = rt::cuda::plannedWorkspaceBytes(analysis::libraryCallOf(call));
    call->setAttr("kedge.workspace", Builder(call.getContext()).getI64IntegerAttr(static_cast<int64_t>(bytes)));
    return success();
  } catch (const rt::Error &error) {
    return call.emitOpError("has no kernel for CUDA: ") << error.what();
  }
}

} // namespace

GpuTarget::GpuTarget(ModuleOp host, std::string arch, lower::gpu::Convolutions convolutions)
    : architecture(std::move(arch)), convolutions(convolutions), module(moduleOf(host)), emitter(module) {}

void GpuTarget::loadDialects(MLIRContext &context) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(UnknownLoc::get(&context));
  lower::gpu::GpuEmitter(moduleOf(*scratch));
}

void GpuTarget::emit(ModuleOp scheduled) {
  int64_t refused = 0;
  const auto take = [&](Operation *launch, FailureOr<LaunchCode> code) {
    if (succeeded(code))
      note(launch, *code);
    else
      ++refused;
  };
  scheduled.walk([&](Operation *op) {
    if (auto cluster = dyn_cast<sched::ClusterOp>(op)) {
      take(op, emitter.emit(cluster));
      noteFlat(op, emitter.emitFlat(cluster));
    }
    auto call = dyn_cast<sched::LibraryOp>(op);
    if (!call)
      return;
    if (!lower::gpu::GpuEmitter::isRuntimeCall(call, convolutions))
      take(op, emitter.emit(call));
    else if (failed(noteRuntimeCall(call)))
      ++refused;
  });
  if (refused != 0)
    fail("{} launches have no kernel for --target cuda:{} (above); compile with --target cpu", refused, architecture);
}

void GpuTarget::group(ModuleOp planned) { lower::gpu::groupLaunches(planned, module); }

lower::gpu::GpuCode GpuTarget::compile() {
  std::string error;
  auto code = lower::gpu::compileGpu(module, architecture, 3, &error);
  if (failed(code))
    fail("code for {} could not be generated: {}", architecture, error);
  return std::move(*code);
}

std::string architectureOf(const std::string &target) {
  const std::string arch = target == "cuda" ? "sm_90" : target.rfind("cuda:", 0) == 0 ? target.substr(5) : "";
  static const std::vector<std::string> known = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
  if (std::find(known.begin(), known.end(), arch) == known.end())
    fail("--target {}: unknown target, expected cpu or cuda:ARCH with ARCH one of {}", target, fmt::join(known, ", "));
  return arch;
}

std::string ptxText(const lower::gpu::GpuCode &code, const std::string &arch) {
  std::string text = fmt::format("// Kernels for {}: registers of a thread, shared memory of a block, spills of a "
                                 "thread in bytes\n",
                                 arch);
  for (const auto &kernel : code.statistics)
    text += fmt::format("// {}: {} registers, {} bytes shared, {} bytes stack, {} bytes spilled, {} bytes reloaded\n",
                        kernel.name, kernel.registers, kernel.sharedBytes, kernel.stackBytes, kernel.spillStores,
                        kernel.spillLoads);
  if (!code.note.empty())
    text += fmt::format("// {}\n", code.note);
  return text + code.ptx;
}

} // namespace kedge::driver
