#pragma once
#include "lib/Dialect/ONNX/ONNXDialect.h.inc"
#include "mlir/IR/Dialect.h"
