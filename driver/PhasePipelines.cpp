#include "driver/PhasePipelines.h"
#include "driver/options/StepOptions.h"
#include "driver/program/GpuTarget.h"
#include "lib/Support/Error.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Levels/Passes.h"
#include "passes/Memory/Passes.h"
#include "runtime/exec/Executor.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// As many as a person reads and a plot shows.
constexpr int kFrontierPoints = 10;

/// The verifier of what a phase leaves.
void addVerifier(Phase left, OpPassManager &manager) {
  switch (left) {
  case Phase::None:
  case Phase::Import:
    return;
  case Phase::Model:
    return manager.addPass(levels::createVerifyModel());
  case Phase::Step:
    return manager.addPass(levels::createVerifyStep());
  case Phase::Schedule:
  case Phase::Rematerialize:
    return manager.addPass(levels::createVerifySchedule());
  case Phase::Exec:
    return manager.addPass(memory::createCheckMemory());
  }
}

/// The phase whose level a phase begins with.
Phase phaseBefore(Phase phase) {
  return phase == Phase::None ? Phase::None : static_cast<Phase>(static_cast<int>(phase) - 1);
}

} // namespace

void PhasePipelines::addGiven(Phase phase, bool isBefore, OpPassManager &manager) const {
  for (const AddedPasses &added : isBefore ? options.passesBefore : options.passesAfter) {
    if (added.phase != phase)
      continue;
    std::string why;
    llvm::raw_string_ostream errors(why);
    if (failed(parsePassPipeline(added.pipeline, manager, errors)))
      fail("--passes-{}: '{}' is no pipeline: {}", isBefore ? "before" : "after", added.pipeline,
           StringRef(why).trim().str());
    addVerifier(isBefore ? phaseBefore(phase) : phase, manager);
  }
}

void PhasePipelines::checkAdded(MLIRContext &context) const {
  for (const bool isBefore : {true, false})
    for (const AddedPasses &added : isBefore ? options.passesBefore : options.passesAfter) {
      if (!has(added.phase))
        fail("--passes-{}: the phase of '{}' has no passes with these options; give --recompute or "
             "--memory-budget, or another phase",
             isBefore ? "before" : "after", added.pipeline);
      PassManager manager(&context);
      addGiven(added.phase, isBefore, manager);
    }
}

bool PhasePipelines::has(Phase phase) const {
  return phase != Phase::None && phase != Phase::Import &&
         (phase != Phase::Rematerialize || options.memory.rematerializes());
}

pipelines::TargetOptions PhasePipelines::target() const {
  return {options.onGpu(),
          options.machine.convolution,
          rt::physicalCores(),
          options.memory.plan.budget.isGiven(),
          options.tensorOverlap != mesh::Overlap::Off,
          options.machine.target == "cuda:sm_90a",
          options.memory.offloads(OffloadKind::Params),
          options.deviceName(),
          options.machine.sideStream,
          hasDependentLaunches(options.machine),
          options.machine.geluSums};
}

/// Of a loss beside a reference, which is the model with adapters off.
static pipelines::AdapterOptions withReference(const ModelOptions &model) {
  pipelines::AdapterOptions adapters = model.adapters;
  if (!adapters.inserts() || !model.loss)
    return adapters;
  for (const LossTerm &term : model.loss->terms) {
    if (!term.readsReference())
      continue;
    const std::string &output = term.outputs.empty() ? model.logits : term.outputs.front();
    if (adapters.reference && adapters.reference->logits != output)
      fail("--loss {}: references of several outputs are not available yet with adapters",
           model.loss->text());
    adapters.reference = adapters::AddReferenceOptions{output};
  }
  return adapters;
}

void PhasePipelines::build(Phase phase, bool withKernels, OpPassManager &manager) const {
  addGiven(phase, /*before=*/true, manager);
  buildOwn(phase, withKernels, manager);
  addGiven(phase, /*before=*/false, manager);
}

void PhasePipelines::buildOwn(Phase phase, bool withKernels, OpPassManager &manager) const {
  switch (phase) {
  case Phase::None:
  case Phase::Import:
    return;
  case Phase::Model:
    pipelines::addRaisePipeline(manager, target());
    if (options.model.documents)
      pipelines::addDocumentsPipeline(manager);
    if (options.model.adapters.given())
      pipelines::addAdapterPipeline(manager, withReference(options.model));
    return;
  case Phase::Step:
    return pipelines::addStepPipeline(manager, stepOptions(options, model));
  case Phase::Schedule:
    return pipelines::addSchedulePipeline(manager, target());
  case Phase::Rematerialize:
    return addRematerialization(manager);
  case Phase::Exec:
    return withKernels ? pipelines::addLowerPipeline(manager, target())
                       : pipelines::addMemoryPipeline(manager, target());
  }
}

/// States move first: what is computed again fills what they leave.
void PhasePipelines::addRematerialization(OpPassManager &manager) const {
  addOffload(manager);
  pipelines::addRematerializePipeline(manager, recompute());
}

void PhasePipelines::addOffload(OpPassManager &manager) const {
  std::vector<Offload> states = options.memory.offload;
  std::erase_if(states, [](const Offload &entry) { return entry.kind == OffloadKind::Activations; });
  if (!states.empty())
    pipelines::addOffloadPipeline(manager, states, options.deviceName(), rt::physicalCores());
}

pipelines::ChooseRecomputeOptions PhasePipelines::recompute() const {
  const MemoryOptions &memory = options.memory;
  pipelines::ChooseRecomputeOptions choose = memory.plan;
  choose.policy = memory.policy();
  choose.device = options.deviceName();
  choose.threads = rt::physicalCores();
  choose.offload = memory.offloads(OffloadKind::Activations);
  choose.frontier = memory.frontier ? kFrontierPoints : 0;
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
