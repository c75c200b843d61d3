#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainAttrs.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h.inc"
