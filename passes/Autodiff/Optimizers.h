// Facts of the optimizers: their defaults are those of PyTorch, bitsandbytes and their authors.
#pragma once
#include "passes/Autodiff/OptionWords.h"
#include <optional>

namespace kedge::autodiff {

struct OptimizerDefaults {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0, lr = 1e-3;
};

/// Of projections of gradients.
struct ProjectionDefaults {
  int64_t rank = 0; ///< 0: there is none
  double scale = 1;
};

struct OptimizerFacts {
  OptimizerDefaults defaults;
  bool hasMomentum = false; ///< takes --momentum
  bool hasMoments = false;  ///< takes --moments; sgd does with momentum
  bool hasMatrices = false; ///< takes --muon
  bool hasCaution = false;  ///< takes --cautious
  std::optional<Optimizer> in8bits = std::nullopt;
  bool has4bits = false;              ///< takes --moments int4
  bool hasNeurons = false;            ///< tells a matrix's outputs from its inputs
  bool hasBases = false;              ///< takes --precondition-frequency and --shampoo-beta
  bool hasEigenvectors = false;       ///< has kernels for CPUs alone
  ProjectionDefaults projection = {}; ///< takes --proj-rank, --update-proj-gap and --proj-scale
  bool projects() const { return projection.rank > 0; }
};

const OptimizerFacts &factsOf(Optimizer optimizer);
inline const OptimizerDefaults &defaultsOf(Optimizer optimizer) { return factsOf(optimizer).defaults; }

} // namespace kedge::autodiff
