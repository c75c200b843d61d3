// Rules by which ops of the dialect are computed on some positions (PositionOpInterface).
#pragma once
#include "mlir/IR/MLIRContext.h"

namespace kedge::onnx {
void registerPositions(mlir::MLIRContext *context);
} // namespace kedge::onnx
