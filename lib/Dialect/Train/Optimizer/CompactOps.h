#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Train/Optimizer/OptimizerShapes.h"
#include "lib/Dialect/Train/TrainDialect.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Train/Optimizer/CompactOps.h.inc"

namespace kedge::train {
constexpr int64_t kCompandedGroup = 32; ///< elements that share a scale
} // namespace kedge::train
