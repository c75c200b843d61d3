#pragma once
#include "mlir/IR/Dialect.h"

#include "kedge/Dialect/ONNX/ONNXDialect.h.inc"
#include "kedge/Dialect/ONNX/OnnxEnums.h.inc"
