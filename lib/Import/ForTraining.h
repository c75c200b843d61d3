// A model as a compilation takes it: with what options settle, and with its weights as initializers.
#pragma once
#include "lib/Lint/Lint.h"
#include "mlir/IR/MLIRContext.h"
#include <map>

namespace kedge::importer {

struct Settled {
  std::map<std::string, std::vector<int64_t>> shapes; ///< --shape
  std::map<std::string, std::string> values;          ///< --value
  bool keepsCaches = false;                           ///< --no-cache=off
  std::vector<std::string> losses;                    ///< what --loss-output and --logits name
  bool findsLogits = true;                            ///< and the only float output beside them
};

/// Caches are empty, inputs with values are constants, operators of com.microsoft are ONNX's, Ifs whose
/// condition is known are their branch, weights in Constants, bodies and attributes are initializers, and
/// what only outputs beside the loss need and cannot be compiled is gone. Returns a sentence for each thing
/// that is left out. The context's dialects must be loaded.
std::vector<std::string> settleForTraining(model::Model &model, const Settled &settled,
                                           mlir::MLIRContext &context);

} // namespace kedge::importer
