#pragma once
#include "kedge/Dialect/ONNX/Composite/NormLayout.h"
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/Gradient/Visible.h"
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/IR/SymbolTable.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Gradient/GradientOps.h.inc"
