#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#define GET_OP_CLASSES
#include "lib/Dialect/ONNX/Movement/MovementOps.h.inc"
