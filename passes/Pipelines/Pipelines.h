// The phases in order, as pipelines that read as prose.
#pragma once
#include "mlir/Pass/PassManager.h"
#include <string>

namespace kedge::pipelines {

/// What the step computes (contract section 2); one struct for compile and plan.
struct StepOptions {
  std::string loss = "cross-entropy"; ///< none, cross-entropy, mse, bce-with-logits
  std::string logits, labels = "labels", lossOutput;
  int64_t classAxis = -100, ignoreIndex = -100;
  double labelSmoothing = 0;
  int64_t accumulate = 1, ranks = 1;
  std::string optimizer = "adamw";
  double momentum = 0, clipNorm = 0;
  bool nesterov = false;
  int64_t logitsChunk = 128 << 20; ///< bytes; see kedge-chunk-logits
};

/// Level 1: composites back from primitives.
void addRaisePipeline(mlir::OpPassManager &manager);
/// Level 1 -> 2: loss, functions of a run, gradients, optimizer.
void addStepPipeline(mlir::OpPassManager &manager, const StepOptions &options);
/// Level 2 -> 3: clusters, library calls, their order.
void addSchedulePipeline(mlir::OpPassManager &manager);
struct RecomputeOptions {
  std::string policy = "none"; ///< --recompute; auto when a budget is given
  std::string budget, device;  ///< as kedge-choose-recompute takes them
  int64_t effort = 0, slack = 0;
  int threads = 0;
};
/// Level 3: what to compute again, so that the rest fits. Also `--kedge-rematerialize` of kedge-opt.
void addRematerializePipeline(mlir::OpPassManager &manager, const RecomputeOptions &options);
/// Level 3 -> 4: one arena, checked.
void addMemoryPipeline(mlir::OpPassManager &manager, int threads);

/// All passes, for kedge-opt.
void registerPasses();

} // namespace kedge::pipelines
