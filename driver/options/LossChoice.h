// Which loss is taken when none was named.
#pragma once
#include "driver/options/ModelOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::driver {

/// Whether the command says what is minimized.
inline bool namesLoss(const ModelOptions &options) {
  return options.loss.has_value() || !options.lossOutput.empty();
}

/// That cross-entropy fits the outputs of a level-1 @model, and how, as a sentence for the user. Throws
/// kedge::Error that says why it does not, and which loss may be meant.
std::string whyCrossEntropyFits(mlir::func::FuncOp model, const ModelOptions &options);

} // namespace kedge::driver
