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
};

/// Level 1: composites back from primitives.
void addRaisePipeline(mlir::OpPassManager &manager);
/// Level 1 -> 2: loss, functions of a run, gradients, optimizer.
void addStepPipeline(mlir::OpPassManager &manager, const StepOptions &options);
/// Level 2 -> 3: clusters, library calls, their order.
void addSchedulePipeline(mlir::OpPassManager &manager);
/// Level 3 -> 4: one arena, checked.
void addMemoryPipeline(mlir::OpPassManager &manager, int threads);

/// All passes, for kedge-opt.
void registerPasses();

} // namespace kedge::pipelines
