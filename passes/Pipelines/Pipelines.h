// The phases in order, as pipelines that read as prose.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
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
  std::string precision = "fp32",
              precisionPolicy = "master"; ///< fp32, bf16, fp16, fp8; master, autocast or a file
  std::string gradientType,
      accumulatorType; ///< fp32, bf16, fp16; empty: the working type, the parameters' type
  bool masterWeights = true, splitMasters = false;
  LossScaleOptions lossScale;
  std::string loss = "cross-entropy"; ///< none, cross-entropy, mse, bce-with-logits
  std::string logits, labels = "labels", lossOutput;
  int64_t classAxis = -100, ignoreIndex = -100;
  double labelSmoothing = 0;
  std::string classWeights, posWeight; ///< numbers joined by /; empty: all the same
  std::string sampleWeights;           ///< the input that has one for each row
  int64_t accumulate = 1;
  std::string mesh;                      ///< "replica=2,data=4"; empty: one rank
  bool sequenceParallel = true;          ///< residuals and norms are cut by rows along `tensor`
  int64_t sameBits = 0;                  ///< parts of a step's rows whose sums are a tree; 0: in any order
  bool joinsParts = false;               ///< of a rank, in one @micro
  int64_t zero = 0;                      ///< stage
  int64_t bucketBytes = 25 << 20;        ///< of gradients that ranks send together
  int64_t persistBytes = 0;              ///< parameters that stay whole in stage 3
  bool syncBatchNorm = false;            ///< statistics of BatchNormalization are of all ranks
  std::string optimizer = "adamw", muon; ///< `muon`: REGEX of its matrices
  std::string moments = "fp32";          ///< fp32, bf16 or int8
  double momentum = 0, clipNorm = 0, averageDecay = 0;
  bool nesterov = false;
  int64_t logitsChunk = 128 << 20; ///< bytes; see kedge-chunk-logits
  std::vector<std::string> shards; ///< REGEX=tensor:DIM: dimensions of parameters
  bool layoutsOnly = false;        ///< ends once the layouts along `tensor` are chosen
  std::vector<std::string> stages; ///< REGEX=K: stages of modules
  int64_t stage = 0;               ///< of the pipeline, whose program is made
  std::string pipelineSchedule = "1f1b";
  std::string device; ///< whose predicted times balance stages; empty: this machine
  bool isPipelined() const { return ("," + mesh).find(",pipeline=") != std::string::npos; }
  bool isFloat8() const { return precision == "fp8"; } ///< bf16 but for the operands of products
};

/// Low-rank adapters: by a REGEX on weights, or those of a folder.
struct AdapterOptions {
  std::string weights, folder;
  int64_t rank = 8;
  double alpha = 8, dropout = 0;
  std::string scaling = "standard", init = "kaiming";
  std::vector<std::string> quantize; ///< REGEX=FORMAT
  bool doubleQuantize = false;
  bool inserts() const { return !weights.empty() || !folder.empty(); }
};

/// What a schedule is for.
struct TargetOptions {
  bool gpu = false;
  bool generatedConvolutions = false; ///< none is cuDNN's
  int threads = 0;                    ///< that library workspaces are sized for
  bool keepsGathered = false;         ///< what ranks gathered stays until a budget says otherwise
};

/// Level 1: composites back from primitives.
void addRaisePipeline(mlir::OpPassManager &manager);
/// Level 1: adapters beside frozen weights, weights in few bits.
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
void addOffloadPipeline(mlir::OpPassManager &manager, const std::vector<std::string> &states,
                        const std::string &device, int threads);
struct RecomputeOptions {
  std::string policy = "none"; ///< --recompute; auto when a budget is given
  std::string budget, device;  ///< as kedge-choose-recompute takes them
  int64_t effort = 0;
  int threads = 0;
  bool offload = false;   ///< values may go to host memory
  std::string hostBudget; ///< bytes of host memory
  int frontier = 0;       ///< points of added time against bytes to tell
};
/// Level 3: what to compute again, so that the rest fits. Also `--kedge-rematerialize` of kedge-opt.
void addRematerializePipeline(mlir::OpPassManager &manager, const RecomputeOptions &options);
/// The same in two parts, for who asks about values: the choice with the list of values, then the prices of
/// some.
void addChoosePipeline(mlir::OpPassManager &manager, const RecomputeOptions &options);
/// Values by number, as kedge-price-values takes them, and a decision that takes the place of the plan's (or
/// "").
struct PricedValues {
  std::vector<std::string> numbers;
  std::string force;
};
void addPricedPipeline(mlir::OpPassManager &manager, const RecomputeOptions &options,
                       const PricedValues &priced);
/// What holds for level 4, however it was made.
void addChecks(mlir::OpPassManager &manager);
/// Level 3 -> 4: one arena, copies beside the launches, all checked.
void addMemoryPipeline(mlir::OpPassManager &manager, int threads);
/// The same with kernels, which stand in a module at the end; on a GPU, launches of equal updates are joined.
void addLowerPipeline(mlir::OpPassManager &manager, const TargetOptions &target);

/// Takes the kernels of a lowered module out of it; null when it has none.
mlir::OwningOpRef<mlir::ModuleOp> takeKernels(mlir::ModuleOp lowered);

/// All passes, for kedge-opt.
void registerPasses();

} // namespace kedge::pipelines
