#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/BasisOps.h.inc"
