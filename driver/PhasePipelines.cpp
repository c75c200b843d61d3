#include "driver/PhasePipelines.h"
#include "driver/options/StepOptions.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/exec/Executor.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// As many as a person reads and a plot shows.
constexpr int kFrontierPoints = 10;

} // namespace

bool PhasePipelines::has(Phase phase) const {
  return phase != Phase::None && phase != Phase::Import &&
         (phase != Phase::Rematerialize || options.rematerializes());
}

pipelines::TargetOptions PhasePipelines::target() const {
  return {options.onGpu(),
          options.convolution,
          rt::physicalCores(),
          !options.memoryBudget.empty(),
          options.tensorOverlap != mesh::Overlap::Off,
          options.target == "cuda:sm_90a",
          options.offloads("params"),
          options.deviceName()};
}

void PhasePipelines::build(Phase phase, bool withKernels, OpPassManager &manager) const {
  switch (phase) {
  case Phase::None:
  case Phase::Import:
    return;
  case Phase::Model:
    pipelines::addRaisePipeline(manager);
    if (options.model.adapters.given())
      pipelines::addAdapterPipeline(manager, options.model.adapters);
    return;
  case Phase::Step:
    return pipelines::addStepPipeline(manager, stepOptions(options, model));
  case Phase::Schedule:
    return pipelines::addSchedulePipeline(manager, target());
  case Phase::Rematerialize:
    return addRematerialization(manager);
  case Phase::Exec:
    return withKernels ? pipelines::addLowerPipeline(manager, target())
                       : pipelines::addMemoryPipeline(manager, rt::physicalCores());
  }
}

/// States move first: what is computed again fills what they leave.
void PhasePipelines::addRematerialization(OpPassManager &manager) const {
  addOffload(manager);
  pipelines::addRematerializePipeline(manager, recompute());
}

void PhasePipelines::addOffload(OpPassManager &manager) const {
  std::vector<std::string> states;
  for (const std::string &kind : options.offload)
    if (kind != "activations")
      states.push_back(kind);
  if (!options.offload.empty())
    pipelines::addOffloadPipeline(manager, states, options.deviceName(), rt::physicalCores());
}

pipelines::ChooseRecomputeOptions PhasePipelines::recompute() const {
  pipelines::ChooseRecomputeOptions choose;
  choose.policy = options.recomputePolicy();
  choose.budget = options.memoryBudget;
  choose.device = options.deviceName();
  choose.effort = options.effort;
  choose.threads = rt::physicalCores();
  choose.offload = options.offloads("activations");
  choose.hostBudget = options.hostMemoryBudget;
  choose.frontier = options.frontier ? kFrontierPoints : 0;
  return choose;
}

std::string PhasePipelines::text(MLIRContext &context, Phase done) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (Phase phase : kPhases)
    if (phase > done && has(phase)) {
      PassManager manager(&context);
      build(phase, /*withKernels=*/true, manager);
      stream << nameOf(phase) << ' ';
      manager.printAsTextualPipeline(stream);
      stream << '\n';
    }
  return text;
}

} // namespace kedge::driver
