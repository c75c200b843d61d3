#pragma once
#include "lib/Dialect/Dist/DistAttrs.h"
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Train/TrainAttrs.h"
#include "mlir/IR/SymbolTable.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Train/StateOps.h.inc"
