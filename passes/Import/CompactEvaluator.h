// Constants that were broadcast, without their repetition: a mask of a batch is evaluated once.
#pragma once
#include "lib/Interpret/ConstantEvaluator.h"

namespace kedge::raise {

class CompactEvaluator {
public:
  /// The value with size 1 for dims along which it does not vary (leading dims may be missing); null when it
  /// is no constant.
  const interpret::HostTensor *evaluate(mlir::Value value);

private:
  std::optional<interpret::HostTensor> compute(mlir::Value value);
  std::optional<interpret::HostTensor> computeElementwise(mlir::Operation *op);

  interpret::ConstantEvaluator whole;
  llvm::DenseMap<mlir::Value, std::unique_ptr<interpret::HostTensor>> known; // null: no constant
};

} // namespace kedge::raise
