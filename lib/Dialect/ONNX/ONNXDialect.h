#pragma once
#include "lib/Dialect/ONNX/ONNXDialect.h.inc"
#include "lib/Dialect/ONNX/OnnxEnums.h.inc"
#include "mlir/IR/Dialect.h"
