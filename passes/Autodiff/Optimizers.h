// Facts of the optimizers: their defaults are those of PyTorch, bitsandbytes and their authors.
#pragma once
#include "passes/Autodiff/OptionWords.h"
#include <optional>

namespace kedge::autodiff {

struct OptimizerDefaults {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0, lr = 1e-3;
};

struct OptimizerFacts {
  OptimizerDefaults defaults;
  bool hasMomentum = false; ///< takes --momentum
  bool hasMoments = false;  ///< takes --moments; sgd does with momentum
  bool hasMatrices = false; ///< takes --muon
  bool hasCaution = false;  ///< takes --cautious
  std::optional<Optimizer> in8bits = std::nullopt;
};

const OptimizerFacts &factsOf(Optimizer optimizer);
inline const OptimizerDefaults &defaultsOf(Optimizer optimizer) { return factsOf(optimizer).defaults; }

} // namespace kedge::autodiff
