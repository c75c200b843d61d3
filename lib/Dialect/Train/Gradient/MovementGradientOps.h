#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Train/TrainAttrs.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Train/Gradient/MovementGradientOps.h.inc"
