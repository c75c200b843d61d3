#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#define GET_OP_CLASSES
#include "lib/Dialect/ONNX/Movement/MovementOps.h.inc"

namespace kedge::onnx {
/// Whether ScatterElements and ScatterND have a gradient with this reduction.
bool scattersWithGradient(llvm::StringRef reduction);
} // namespace kedge::onnx
