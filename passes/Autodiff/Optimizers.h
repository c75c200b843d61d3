// Facts of the optimizers: their defaults are those of PyTorch and bitsandbytes.
#pragma once
#include "passes/Autodiff/OptionWords.h"
#include <optional>

namespace kedge::autodiff {

struct OptimizerDefaults {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0;
};

struct OptimizerFacts {
  OptimizerDefaults defaults;
  bool hasMomentum = false; ///< takes --momentum
  bool hasMoments = false;  ///< takes --moments; sgd does with momentum
  std::optional<Optimizer> in8bits = std::nullopt;
};

const OptimizerFacts &factsOf(Optimizer optimizer);
inline const OptimizerDefaults &defaultsOf(Optimizer optimizer) { return factsOf(optimizer).defaults; }

} // namespace kedge::autodiff
