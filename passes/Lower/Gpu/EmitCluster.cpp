// Clusters as launches of one or several kernels.
#include "passes/Lower/Cluster/KernelNames.h"
#include "passes/Lower/Gpu/FlatKernels.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/OnlineSums.h"
#include "passes/Lower/Gpu/Stages.h"
#include "passes/Lower/Gpu/thread/ByteTileEmitter.h"
#include "passes/Lower/Gpu/thread/ThreadEmitter.h"
#include "passes/Lower/Gpu/thread/TileEmitter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

using Operand = KernelLaunch::Operand;

namespace {

/// Pointers that fit the 32,764 bytes of a kernel's parameters from PTX 8.1 on (4,352 before).
constexpr size_t kMostOperands = 32'764 / 8;

class ClusterLaunch {
public:
  ClusterLaunch(GpuEmitter &emitter, MLIRContext *context) : emitter(emitter), builder(context, workspace) {}

  LogicalResult add(const Stage &stage, StringRef suffix = "") {
    auto nest = ClusterNest::of(stage.cluster);
    if (failed(nest))
      return failure();
    GpuPlan plan = GpuPlan::of(*nest);
    if (!nest->summed.empty() && !(plan.lanesReduced && plan.inRegisters))
      return sched::ClusterOp(stage.cluster)
          .emitOpError("adds up rows that a block of threads cannot hold in registers, or that are not "
                       "along its reductions");
    if (!plan.inRegisters && pairOnlineSums(*nest))
      plan = GpuPlan::of(*nest);
    if (plan.groups == 0 ||
        llvm::all_of(nest->outputs, [](const Access &output) { return output.elements == 0; }))
      return success();
    if (plan.splits > 1 && !plan.walksRows)
      return addSplit(stage, *nest, plan, suffix);
    if (!wantsStages(*nest, plan)) {
      addKernel(stage.cluster, *nest, plan, stage.operands, suffix);
      return success();
    }
    for (auto [number, part] : llvm::enumerate(builder.split(*nest, stage.operands)))
      if (failed(add(part, (suffix + "_stage" + Twine(number)).str())))
        return failure();
    return success();
  }

  LaunchCode take() {
    code.workspaceBytes = workspace.bytes();
    return std::move(code);
  }

private:
  LogicalResult addSplit(const Stage &stage, ClusterNest &nest, const GpuPlan &plan, StringRef suffix) {
    ArrayRef<Operand> operands(stage.operands);
    ArrayRef<Operand> inputs = operands.take_front(nest.inputs.size()),
                      outputs = operands.drop_front(inputs.size());
    SmallVector<Operand> partials;
    for (auto [output, whole] : llvm::zip(nest.outputs, outputs))
      partials.push_back(nest.isPoint(output)
                             ? whole
                             : workspace.add(plan.splits * output.elements *
                                             std::max(1u, output.element.getIntOrFloatBitWidth() / 8)));
    SmallVector<Operand> first(inputs);
    first.append(partials);
    addKernel(stage.cluster, nest, plan, first, suffix);
    return add(builder.join(nest, plan.splits, partials, outputs), (suffix + "_join").str());
  }

  void addKernel(sched::ClusterOp cluster, ClusterNest &nest, const GpuPlan &plan, ArrayRef<Operand> operands,
                 StringRef suffix) {
    KernelLaunch launch;
    launch.name = emitter.kernel(kernelKey(cluster), kernelHint(cluster) + suffix.str(), operands.size(),
                                 plan.block(), [&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel) {
                                   if (plan.turnsBytes)
                                     ByteTileEmitter(b, kernel, nest, plan).emit();
                                   else if (plan.tileDim)
                                     TileEmitter(b, kernel, nest, plan).emit();
                                   else
                                     ThreadEmitter(b, kernel, nest, plan).emit();
                                 });
    launch.grid = plan.grid();
    launch.block = plan.block();
    launch.operands.assign(operands.begin(), operands.end());
    code.kernels.push_back(std::move(launch));
  }

  GpuEmitter &emitter;
  Workspace workspace;
  StageBuilder builder;
  LaunchCode code;
};

} // namespace

FailureOr<LaunchCode> GpuEmitter::emit(sched::ClusterOp cluster) {
  if (size_t operands = cluster->getNumOperands() + cluster->getNumResults(); operands > kMostOperands)
    return cluster.emitOpError("reads and writes ")
           << operands << " tensors, but a CUDA kernel has room for " << kMostOperands
           << " pointers; compile with --target cpu";
  std::string key = kernelKey(cluster);
  if (auto known = clusters.find(key); known != clusters.end())
    return known->second;
  Stage whole{cluster, {}};
  for (int64_t at = 0; at < int64_t(cluster.getInputs().size() + cluster.getOutputs().size()); ++at)
    whole.operands.push_back({Operand::Tensor, at});
  ClusterLaunch launch(*this, cluster.getContext());
  if (failed(launch.add(whole)))
    return failure();
  return clusters[key] = launch.take();
}

std::optional<FlatCode> GpuEmitter::emitFlat(sched::ClusterOp cluster) {
  auto nest = ClusterNest::of(cluster);
  if (failed(nest) || !isFlat(*nest))
    return std::nullopt;
  auto [entry, isNew] = flatFunctions.try_emplace(flatText(*nest));
  if (isNew) {
    entry->second = "flat" + std::to_string(flatFunctions.size() - 1);
    emitFlatFunction(module, *nest, entry->second);
  }
  return FlatCode{entry->second, nest->sizes[0]};
}
