// The optimizers by name: rule and defaults, which are those of PyTorch and bitsandbytes.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace kedge::autodiff {

struct OptimizerDefaults {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0;
};

/// In the order of help texts and messages.
std::vector<std::string> optimizerNames();
/// `optimizer` is one of optimizerNames().
const OptimizerDefaults &defaultsOf(llvm::StringRef optimizer);

} // namespace kedge::autodiff
