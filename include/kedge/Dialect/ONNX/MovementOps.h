#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/MovementOps.h.inc"

namespace kedge::onnx {
/// Whether ScatterElements and ScatterND have a gradient with this reduction.
bool scattersWithGradient(llvm::StringRef reduction);
} // namespace kedge::onnx
