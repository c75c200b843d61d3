#include "passes/Pipelines/Pipelines.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Autodiff/Optimizers.h"
#include "passes/Import/Passes.h"
#include "passes/Levels/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Offload/Passes.h"
#include "passes/Pipeline/Schedule.h"
#include "passes/Precision/Passes.h"
#include "passes/Schedule/Passes.h"

using namespace mlir;

namespace kedge::pipelines {

void addRaisePipeline(OpPassManager &manager, const TargetOptions &target) {
  manager.addPass(raise::createBoundIndices());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(levels::createMergeEqual());
  functions.addPass(raise::createRaiseGelu());
  functions.addPass(raise::createRaiseSilu());
  functions.addPass(raise::createRaiseSwiglu());
  functions.addPass(raise::createRaiseLayerNorm());
  functions.addPass(raise::createRaiseRmsNorm());
  functions.addPass(raise::createRaiseGroupNorm());
  functions.addPass(raise::createRaiseRotary());
  functions.addPass(raise::createRaiseAttention());
  functions.addPass(raise::createFoldTransposes());
  functions.addPass(raise::createRaiseExperts({target.gpu ? TargetKind::Cuda : TargetKind::Cpu}));
  functions.addPass(createCanonicalizerPass());
  functions.addPass(levels::createMergeEqual());
  manager.addPass(raise::createDropConstants());
  manager.addPass(levels::createVerifyModel());
}

void addDocumentsPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(raise::createSeparateDocuments());
  manager.addPass(levels::createVerifyModel());
}

void addAdapterPipeline(OpPassManager &manager, const AdapterOptions &options) {
  const std::string &folder = options.insert.folder;
  adapters::InsertScalesOptions scales = options.scales;
  adapters::InsertTokensOptions tokens = options.tokens;
  scales.folder = tokens.folder = folder;
  if (!options.insert.weights.empty() || !folder.empty())
    manager.addPass(adapters::createInsertAdapters(options.insert));
  if (!scales.weights.empty() || !folder.empty())
    manager.addPass(adapters::createInsertScales(scales));
  if (!tokens.tokens.empty() || !folder.empty())
    manager.addPass(adapters::createInsertTokens(tokens));
  if (!options.quantize.weights.empty())
    manager.addPass(adapters::createQuantizeWeights(options.quantize));
  if (options.fakeQuantizes())
    manager.addPass(adapters::createInsertFakeQuantization(options.fakeQuantize));
  if (options.fakeQuantizes() && options.norms == adapters::NormFolding::Folded)
    manager.addPass(adapters::createFoldNorms());
  if (options.fakeQuantizes())
    manager.addPass(adapters::createRoundBiases());
  if (options.reference)
    manager.addPass(adapters::createAddReference(*options.reference));
  manager.addPass(levels::createVerifyModel());
}

void addPrecisionPipeline(OpPassManager &manager, const StepOptions &options) {
  manager.addPass(precision::createWidenStates());
  manager.addNestedPass<func::FuncOp>(precision::createFuseBias());
  if (options.precision == Precision::Fp32)
    return;
  precision::AssignPrecisionOptions assign;
  const LossOutputs &losses = options.loss.lossOutput;
  assign.lossOutput = losses;
  assign.type = wordOf(options.isFloat8() ? Precision::Bf16 : options.precision);
  if (options.precisionPolicy == "master" || options.precisionPolicy == "autocast")
    assign.policy = options.precisionPolicy;
  else
    assign.file = options.precisionPolicy;
  manager.addNestedPass<func::FuncOp>(precision::createAssignPrecision(assign));
  manager.addPass(precision::createInsertCasts());
  if (options.isFloat8())
    manager.addNestedPass<func::FuncOp>(precision::createChooseFloat8());
}

static void addStages(OpPassManager &manager, const StepOptions &options) {
  pipeline::AssignStagesOptions assign = options.stages;
  if (auto schedule = pipeline::Schedule::parse(options.pipeline.schedule)) {
    assign.chunks = schedule->chunks;
    assign.allForwardsFirst = schedule->kind == pipeline::Schedule::Kind::GPipe;
  }
  assign.microBatches = options.accumulate;
  assign.device = options.device;
  manager.addPass(pipeline::createAssignStages(assign));
  if (options.layoutsOnly)
    return;
  pipeline::UnrollPipelineOptions unroll = options.pipeline;
  unroll.microBatches = options.accumulate;
  unroll.device = options.device;
  manager.addPass(pipeline::createUnrollPipeline(unroll));
  manager.addNestedPass<func::FuncOp>(levels::createMergeEqual());
}

void addGradientPipeline(OpPassManager &manager, const StepOptions &options) {
  if (options.mesh.size() > 1 || options.sameBits > 0)
    manager.addPass(partition::createSetMesh({options.mesh, options.sameBits}));
  manager.addPass(levels::createNoteUpdates());
  if (autodiff::factsOf(options.update.optimizer).hasMatrices)
    manager.addPass(autodiff::createChooseMatrices(
        {options.muon, autodiff::factsOf(options.update.optimizer).hasNeurons}));
  addPrecisionPipeline(manager, options);
  autodiff::AddLossOptions loss = options.loss;
  loss.accumulate = options.accumulate;
  manager.addNestedPass<func::FuncOp>(autodiff::createAddLoss(loss));
  if (loss.kind != LossFunction::None)
    manager.addPass(autodiff::createBoundLabels());
  manager.addPass(autodiff::createSplitFunctions({options.accumulate}));
  if (options.lossScale.scales)
    manager.addPass(precision::createScaleLoss({options.lossScale.init, options.lossScale.hysteresis}));
  manager.addNestedPass<func::FuncOp>(autodiff::createBindBuffers());
  manager.addNestedPass<func::FuncOp>(autodiff::createBindRandom());
  if (options.syncBatchNorm || options.joinsMicroBatches())
    manager.addNestedPass<func::FuncOp>(partition::createSyncBatchNorm(
        {options.syncBatchNorm, options.joinsMicroBatches() ? options.accumulate : 1}));
  if (options.followsRanges && options.mesh.size() > 1)
    manager.addNestedPass<func::FuncOp>(partition::createSyncRanges());
  manager.addNestedPass<func::FuncOp>(autodiff::createDifferentiate());
  if (options.isFloat8())
    manager.addNestedPass<func::FuncOp>(precision::createCastToFloat8());
  if (options.gradientType)
    manager.addNestedPass<func::FuncOp>(autodiff::createSetGradientType({wordOf(*options.gradientType)}));
  manager.addNestedPass<func::FuncOp>(levels::createNameValues());
}

void addStepPipeline(OpPassManager &manager, const StepOptions &options) {
  addGradientPipeline(manager, options);
  if (options.joinsParts)
    manager.addPass(mesh::createJoinParts({options.logitsChunk > 0 ? options.logitsChunk : INT64_MAX}));
  if (options.countsExperts)
    manager.addNestedPass<func::FuncOp>(autodiff::createCountExperts());
  if (options.expertLoad.isGiven())
    manager.addPass(mesh::createSetExpertLoad({options.expertLoad, options.experts.capacity}));
  if (options.mesh.sizeOf(rt::Mesh::kExpert) > 1)
    manager.addPass(mesh::createCutExperts(options.experts));
  if (options.mesh.sizeOf(rt::Mesh::kContext) > 1)
    manager.addPass(mesh::createCutContext());
  // From stage 2 on, the gradients of each micro-batch are reduced; in stages 0 and 1, their sum is.
  // Parts that micro-batches add up go along `replica` once.
  const auto reduce = [&](const char *axes) {
    manager.addPass(
        partition::createReduceGradients({options.bucketBytes, options.partition.stage == 1, axes}));
  };
  // A tree begins with the parts of one rank.
  const bool early = options.partition.stage >= 2 && options.sameBits == 0,
             apart = early && options.accumulate > 1;
  if (early)
    reduce(apart ? "data" : "all");
  manager.addPass(autodiff::createAccumulateGradients(
      {options.accumulatorType ? wordOf(*options.accumulatorType) : "", options.accumulate}));
  if (!early || apart)
    reduce(apart ? "replica" : "all");
  autodiff::AddOptimizerOptions optimizer = options.update;
  optimizer.signedItems = !options.loss.sampleWeights.empty();
  optimizer.scaleGrowth = options.lossScale.growth;
  optimizer.scaleBackoff = options.lossScale.backoff;
  optimizer.scaleWindow = options.lossScale.window;
  optimizer.scaleHysteresis = options.lossScale.hysteresis;
  optimizer.scaleMinimum = options.lossScale.minimum;
  manager.addPass(autodiff::createAddOptimizer(optimizer));
  if (options.masterWeights == MasterWeights::Off)
    manager.addPass(precision::createDropMasters());
  if (options.masterWeights == MasterWeights::Split)
    manager.addPass(precision::createSplitMasters());
  const bool dividesTensors = options.mesh.sizeOf(rt::Mesh::kTensor) > 1;
  if (dividesTensors) {
    manager.addPass(mesh::createPropagateShardings(options.layouts));
    if (options.layoutsOnly)
      return;
    manager.addPass(mesh::createLocalize());
    manager.addPass(mesh::createSumOnce());
  }
  manager.addPass(partition::createPartitionStates(options.partition));
  manager.addNestedPass<func::FuncOp>(autodiff::createChunkLogits({options.logitsChunk}));
  if (options.feedForwardChunk > 0)
    manager.addPass(mesh::createChunkFeedForward({options.feedForwardChunk}));
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(levels::createMergeEqual());
  if (dividesTensors)
    manager.addPass(mesh::createHalveProducts({options.tensorOverlap, options.device}));
  const auto bucket = [&] {
    manager.addNestedPass<func::FuncOp>(partition::createBucketGathers({options.bucketBytes}));
  };
  if (!options.isPipelined()) // else the gathers of a stage
    bucket();
  manager.addPass(levels::createCheckUpdates());
  if (options.isPipelined()) {
    addStages(manager, options);
    bucket();
  }
  if (options.joinsMicroBatches()) {
    manager.addPass(pipeline::createUnrollMicroBatches({options.accumulate}));
    manager.addNestedPass<func::FuncOp>(levels::createMergeEqual());
  }
  manager.addPass(levels::createVerifyStep());
}

void addSchedulePipeline(OpPassManager &manager, const TargetOptions &target) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (target.gpu) {
    functions.addPass(schedule::createFuseAccumulation());
    functions.addPass(schedule::createFuseGelu({target.geluSums}));
  } else {
    functions.addPass(schedule::createFuseGatherGradients());
    functions.addPass(schedule::createJoinProducts());
    functions.addPass(schedule::createJoinSlices());
    functions.addPass(schedule::createMultiplyPlaces());
  }
  functions.addPass(schedule::createDecompose({target.gpu ? TargetKind::Cuda : TargetKind::Cpu}));
  functions.addPass(levels::createMergeEqual());
  functions.addPass(target.gpu ? schedule::createPairFloat8Casts() : schedule::createUnpackInProducts());
  if (!target.gpu)
    functions.addPass(schedule::createPackWeights());
  functions.addPass(schedule::createFormClusters());
  functions.addPass(schedule::createFuseClusters({target.gpu}));
  if (target.gpu) {
    functions.addPass(schedule::createSumColumns());
    functions.addPass(schedule::createFuseSums());
    if (!target.movesParameters)
      functions.addPass(schedule::createJoinMaxima());
    functions.addPass(schedule::createPackAttention());
    functions.addPass(schedule::createPadRows());
    functions.addPass(schedule::createApproximateExponentials());
  }
  functions.addPass(schedule::createPlaceUpdates());
  if (target.gpu && !target.movesParameters)
    functions.addPass(schedule::createJoinPartialSums());
  if (!target.keepsGathered)
    functions.addPass(partition::createGatherAgain());
  functions.addPass(schedule::createDequantizeAgain()); // numbers its clones behind those
  if (target.overlapsTensor)
    functions.addPass(partition::createOrderCollectives({target.device}));
  functions.addPass(memory::createBindResults());
  manager.addPass(levels::createVerifySchedule());
  if (target.gpu)
    manager.addPass(lower::createNoteWorkspaces({target.convolutions}));
}

void addOffloadPipeline(OpPassManager &manager, const std::vector<Offload> &states, const std::string &device,
                        int threads) {
  remat::ChooseRecomputeOptions before;
  before.policy = {remat::Policy::Kind::None};
  before.device = device;
  before.threads = threads;
  manager.addPass(remat::createChooseRecompute(before));
  manager.addPass(offload::createOffloadStates({{states.begin(), states.end()}}));
}

void addChecks(OpPassManager &manager) {
  manager.addPass(memory::createCheckMemory());
  manager.addPass(partition::createCheckCollectives());
}

static void addInsertion(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(remat::createInsertRecompute());
  manager.addPass(levels::createVerifySchedule());
}

static void addPrices(OpPassManager &manager, const ChooseRecomputeOptions &options,
                      const PricedValues &priced) {
  remat::PriceValuesOptions price;
  price.numbers.assign(priced.numbers.begin(), priced.numbers.end());
  price.force = priced.force;
  price.device = options.device;
  price.threads = options.threads;
  manager.addPass(remat::createPriceValues(price));
}

void addRematerializePipeline(OpPassManager &manager, const ChooseRecomputeOptions &options) {
  manager.addPass(remat::createChooseRecompute(options));
  addInsertion(manager);
}

void addChoosePipeline(OpPassManager &manager, const ChooseRecomputeOptions &options) {
  manager.addPass(remat::createChooseRecompute(options));
  addPrices(manager, options, {});
}

void addPricedPipeline(OpPassManager &manager, const ChooseRecomputeOptions &options,
                       const PricedValues &priced) {
  addPrices(manager, options, priced);
  addInsertion(manager);
}

static void addPlacement(OpPassManager &manager, const TargetOptions &target) {
  if (target.gpu && target.sideStream)
    manager.addPass(memory::createPlaceSideLaunches());
  manager.addPass(memory::createPlaceCopies());
  addChecks(manager);
}

void addMemoryPipeline(OpPassManager &manager, const TargetOptions &target) {
  manager.addPass(memory::createPlanMemory({target.threads, target.gpu && target.sideStream}));
  addPlacement(manager, target);
}

void addLowerPipeline(OpPassManager &manager, const TargetOptions &target) {
  if (!target.gpu) {
    manager.addPass(lower::createEmitKernels());
    return addMemoryPipeline(manager, target);
  }
  lower::EmitGpuKernelsOptions kernels;
  kernels.convolutions = target.convolutions;
  kernels.warpgroups = target.hopper;
  manager.addPass(lower::createEmitGpuKernels(kernels));
  manager.addPass(memory::createPlanMemory({target.threads, target.gpu && target.sideStream}));
  // Kernels of joined launches follow from where tensors lie.
  manager.addPass(lower::createGroupLaunches({target.sideStream ? 1 : 0}));
  if (target.dependentLaunches)
    manager.addPass(lower::createLaunchDependents());
  addPlacement(manager, target);
}

OwningOpRef<ModuleOp> takeKernels(ModuleOp lowered) {
  auto modules = lowered.getOps<ModuleOp>();
  if (modules.empty())
    return {};
  ModuleOp kernels = *modules.begin();
  kernels->remove();
  return kernels;
}

} // namespace kedge::pipelines
