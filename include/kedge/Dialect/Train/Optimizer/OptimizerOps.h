#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/IR/SymbolTable.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h.inc"
