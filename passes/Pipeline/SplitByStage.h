// Collectives of several tensors, where those are of several stages of a pipeline.
#pragma once
#include "mlir/IR/Operation.h"

namespace kedge::pipeline {

/// Replaces a collective whose tensors are of several stages by one for each stage, and gives these with
/// their stages. Nothing is done, and nothing given, where the op is no collective of several tensors, or all
/// are of one stage.
llvm::SmallVector<std::pair<mlir::Operation *, int64_t>>
splitByStage(mlir::Operation *op, llvm::function_ref<int64_t(mlir::Value)> stageOf);

} // namespace kedge::pipeline
