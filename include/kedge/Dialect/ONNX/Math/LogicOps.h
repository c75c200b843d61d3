#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Math/LogicOps.h.inc"
