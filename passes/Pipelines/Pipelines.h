// The phases in order, as pipelines that read as prose. Options of one pass are the struct that its .td
// makes: flags of the tools fill it, the pass reads it, nothing copies single fields.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Adapters/Passes.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Lower/OptionWords.h"
#include "passes/Mesh/Passes.h"
#include "passes/Offload/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipelines/OptionWords.h"
#include "passes/Rematerialize/Passes.h"
#include <optional>
#include <string>
#include <vector>

namespace kedge::pipelines {

/// --loss-scale and its kin.
struct LossScaleOptions {
  bool scales = false; ///< fp16, or asked for
  bool fixed = false;  ///< the scale never changes
  double init = 65536, growth = 2, backoff = 0.5, minimum = 0;
  int64_t window = 2000, hysteresis = 1;
};

/// Options that decide what a step computes; one struct for compile and plan.
struct StepOptions {
  Precision precision = Precision::Fp32;
  std::string precisionPolicy = "master";   ///< master, autocast or a file
  std::optional<GradientType> gradientType, ///< none: the type that backward computes in
      accumulatorType;                      ///< none: the parameters' type
  MasterWeights masterWeights = MasterWeights::On;
  LossScaleOptions lossScale;
  autodiff::AddLossOptions loss;
  autodiff::AddOptimizerOptions update;
  std::string muon; ///< REGEX of its matrices
  int64_t accumulate = 1;
  rt::Mesh mesh;
  mesh::PropagateShardingsOptions layouts;           ///< along `tensor`
  mesh::Overlap tensorOverlap = mesh::Overlap::Auto; ///< see kedge-halve-products
  partition::PartitionStatesOptions partition;
  pipeline::AssignStagesOptions stages;
  pipeline::UnrollPipelineOptions pipeline;
  mesh::CutExpertsOptions experts; ///< along `expert`
  mesh::ExpertLoad expertLoad;
  bool countsExperts = false;     ///< results of a step say how many tokens each expert has
  int64_t sameBits = 0;           ///< parts of a step's rows whose sums are a tree; 0: in any order
  bool joinsParts = false;        ///< of a rank, in one @micro
  int64_t bucketBytes = 25 << 20; ///< of gradients that ranks send together
  bool followsRanges = false;     ///< of fake quantisation
  bool syncBatchNorm = false;     ///< statistics of BatchNormalization are of all ranks
  BatchNorm batchNorm = BatchNorm::MicroBatch;
  int64_t logitsChunk = 128 << 20; ///< bytes; see kedge-chunk-logits
  int64_t feedForwardChunk = 0;    ///< bytes; see kedge-chunk-feed-forward
  bool layoutsOnly = false;        ///< ends once the layouts along `tensor` are chosen
  std::string
      device; ///< whose predicted times balance stages and tell what runs under what; empty: this machine
  bool isPipelined() const { return mesh.sizeOf(rt::Mesh::kPipeline) > 1; }
  /// One @step runs all micro-batches of a rank.
  bool joinsMicroBatches() const { return batchNorm == BatchNorm::Exact && accumulate > 1; }
  bool isFloat8() const { return precision == Precision::Fp8; } ///< bf16 but for the operands of products
};

/// Adapters: by a REGEX on weights, or those of a folder.
struct AdapterOptions {
  adapters::InsertAdaptersOptions insert; ///< with the folder of all methods
  adapters::InsertScalesOptions scales;
  adapters::InsertTokensOptions tokens;
  adapters::QuantizeWeightsOptions quantize;
  adapters::InsertFakeQuantizationOptions fakeQuantize;
  adapters::NormFolding norms = adapters::NormFolding::Folded;
  adapters::IntegerForm integerForm = adapters::IntegerForm::Pairs;
  std::optional<adapters::AddReferenceOptions> reference; ///< of a loss that is beside one
  bool inserts() const {
    return !insert.weights.empty() || !insert.folder.empty() || !scales.weights.empty() ||
           !tokens.tokens.empty();
  }
  bool fakeQuantizes() const { return !fakeQuantize.weights.empty(); }
  bool given() const { return inserts() || !quantize.weights.empty() || fakeQuantizes(); }
};

/// What a schedule is for.
struct TargetOptions {
  bool gpu = false;
  lower::Convolutions convolutions = lower::Convolutions::Auto;
  int threads = 0;                ///< that library workspaces are sized for
  bool keepsGathered = false;     ///< what ranks gathered stays until a budget says otherwise
  bool overlapsTensor = true;     ///< what is sent along `tensor` runs under products
  bool hopper = false;            ///< has the instructions of sm_90a
  bool movesParameters = false;   ///< to host memory: each is fetched where it is read first
  std::string device;             ///< whose predicted times tell under which; empty: this machine
  bool sideStream = true;         ///< of least priority, for what products do not wait for
  bool dependentLaunches = false; ///< kernels wait for those before them themselves (sm_90)
  bool geluSums = true;           ///< gradients of biases before GELU are summed with GELU's derivative
};

/// Level 1: composites back from primitives.
void addRaisePipeline(mlir::OpPassManager &manager, const TargetOptions &target);
/// After it: documents in a row do not see each other.
void addDocumentsPipeline(mlir::OpPassManager &manager);
/// Level 1: adapters beside frozen weights, weights in few bits, weights that train as integers.
void addAdapterPipeline(mlir::OpPassManager &manager, const AdapterOptions &options);
/// Level 1: what is 16-bit, and the casts; nothing for fp32.
void addPrecisionPipeline(mlir::OpPassManager &manager, const StepOptions &options);
/// Level 1 -> 2: precision, loss, functions of a run, gradients, optimizer.
void addStepPipeline(mlir::OpPassManager &manager, const StepOptions &options);
/// Its first passes, up to the gradients of a micro-batch.
void addGradientPipeline(mlir::OpPassManager &manager, const StepOptions &options);
/// Level 2 -> 3: clusters, library calls, their order.
void addSchedulePipeline(mlir::OpPassManager &manager, const TargetOptions &target = {});
/// Level 3: states of these kinds (optimizer, gradients, params) go to host memory. What the module took
/// before that is noted first: budgets and overheads are shares of it.
void addOffloadPipeline(mlir::OpPassManager &manager, const std::vector<Offload> &states,
                        const std::string &device, int threads);
using remat::ChooseRecomputeOptions;
/// Level 3: what to compute again, so that the rest fits. Also `--kedge-rematerialize` of kedge-opt.
void addRematerializePipeline(mlir::OpPassManager &manager, const ChooseRecomputeOptions &options);
/// The same in two parts, for who asks about values: the choice with the list of values, then the prices of
/// some.
void addChoosePipeline(mlir::OpPassManager &manager, const ChooseRecomputeOptions &options);
/// Values by number, as kedge-price-values takes them, and a decision that takes the place of the plan's (or
/// "").
struct PricedValues {
  std::vector<std::string> numbers;
  std::string force;
};
void addPricedPipeline(mlir::OpPassManager &manager, const ChooseRecomputeOptions &options,
                       const PricedValues &priced);
/// What holds for level 4, however it was made.
void addChecks(mlir::OpPassManager &manager);
/// Level 3 -> 4: one arena, copies beside the launches, all checked.
void addMemoryPipeline(mlir::OpPassManager &manager, const TargetOptions &target);
/// The same with kernels, which stand in a module at the end; on a GPU, launches of equal updates are joined.
void addLowerPipeline(mlir::OpPassManager &manager, const TargetOptions &target);

/// Takes the kernels of a lowered module out of it; null when it has none.
mlir::OwningOpRef<mlir::ModuleOp> takeKernels(mlir::ModuleOp lowered);

/// All passes, for kedge-opt.
void registerPasses();

} // namespace kedge::pipelines
