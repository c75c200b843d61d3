#include "passes/Pipelines/Pipelines.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Levels/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Offload/Passes.h"
#include "passes/Rematerialize/Passes.h"
#include "passes/Schedule/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace kedge::pipelines {

void addRaisePipeline(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(levels::createMergeEqual());
  functions.addPass(raise::createRaiseGelu());
  functions.addPass(raise::createRaiseSilu());
  functions.addPass(raise::createRaiseSwiglu());
  functions.addPass(raise::createRaiseLayerNorm());
  functions.addPass(raise::createRaiseRMSNorm());
  functions.addPass(raise::createRaiseGroupNorm());
  functions.addPass(raise::createRaiseRotary());
  functions.addPass(raise::createRaiseAttention());
  functions.addPass(raise::createFoldTransposes());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(levels::createMergeEqual());
  manager.addPass(levels::createVerifyModel());
}

void addStepPipeline(OpPassManager &manager, const StepOptions &options) {
  autodiff::AddLossOptions loss;
  loss.kind = options.loss;
  loss.logits = options.logits;
  loss.labels = options.labels;
  loss.classAxis = options.classAxis;
  loss.ignoreIndex = options.ignoreIndex;
  loss.labelSmoothing = options.labelSmoothing;
  loss.lossOutput = options.lossOutput;
  loss.microBatches = options.accumulate * options.ranks;
  manager.addNestedPass<func::FuncOp>(autodiff::createAddLoss(loss));
  manager.addPass(autodiff::createSplitFunctions({options.accumulate}));
  manager.addNestedPass<func::FuncOp>(autodiff::createBindBuffers());
  manager.addNestedPass<func::FuncOp>(autodiff::createBindRandom());
  manager.addNestedPass<func::FuncOp>(autodiff::createDifferentiate());
  autodiff::AddOptimizerOptions optimizer;
  optimizer.optimizer = options.optimizer;
  optimizer.momentum = options.momentum;
  optimizer.nesterov = options.nesterov;
  optimizer.clipNorm = options.clipNorm;
  manager.addPass(autodiff::createAddOptimizer(optimizer));
  manager.addNestedPass<func::FuncOp>(autodiff::createChunkLogits({options.logitsChunk}));
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(levels::createMergeEqual());
  manager.addPass(levels::createVerifyStep());
}

void addSchedulePipeline(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(schedule::createDecompose());
  functions.addPass(levels::createMergeEqual());
  functions.addPass(schedule::createFormClusters());
  functions.addPass(schedule::createFuseClusters());
  functions.addPass(schedule::createPlaceUpdates());
  functions.addPass(memory::createBindResults());
  manager.addPass(levels::createVerifySchedule());
}

void addOffloadPipeline(OpPassManager &manager, const std::vector<std::string> &states, const std::string &device,
                        int threads) {
  remat::ChooseRecomputeOptions before;
  before.policy = "none";
  before.device = device;
  before.threads = threads;
  manager.addPass(remat::createChooseRecompute(before));
  offload::OffloadStatesOptions moved;
  moved.states.assign(states.begin(), states.end());
  manager.addPass(offload::createOffloadStates(moved));
}

void addRematerializePipeline(OpPassManager &manager, const RecomputeOptions &options) {
  remat::ChooseRecomputeOptions choose;
  choose.policy = options.policy;
  choose.budget = options.budget;
  choose.device = options.device;
  choose.effort = options.effort;
  choose.slack = options.slack;
  choose.threads = options.threads;
  choose.offload = options.offload;
  choose.hostBudget = options.hostBudget;
  manager.addPass(remat::createChooseRecompute(choose));
  manager.addNestedPass<func::FuncOp>(remat::createInsertRecompute());
  manager.addPass(levels::createVerifySchedule());
}

void addPlanPipeline(OpPassManager &manager, int threads) { manager.addPass(memory::createPlanMemory({threads})); }

void addPlacementPipeline(OpPassManager &manager) {
  manager.addPass(memory::createPlaceCopies());
  manager.addPass(memory::createCheckMemory());
}

void addMemoryPipeline(OpPassManager &manager, int threads) {
  addPlanPipeline(manager, threads);
  addPlacementPipeline(manager);
}

} // namespace kedge::pipelines
