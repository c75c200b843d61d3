#pragma once
#include "mlir/IR/Dialect.h"
#include "lib/Dialect/ONNX/ONNXDialect.h.inc"
