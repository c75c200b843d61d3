#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerShapes.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/CompactOps.h.inc"

namespace kedge::train {
constexpr int64_t kCompandedGroup = 32; ///< elements that share a scale
constexpr int64_t kBlock4bit = 128;     ///< elements of moments in 4 bits that share a magnitude
} // namespace kedge::train
