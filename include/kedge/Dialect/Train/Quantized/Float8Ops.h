#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"

namespace kedge::train {

/// The 8-bit types that a product's operands will be rounded to. Set while the product is still in bf16.
inline constexpr llvm::StringLiteral kFloat8 = "train.float8";

} // namespace kedge::train

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Quantized/Float8Ops.h.inc"
