#pragma once
#include "kedge/Dialect/ONNX/Composite/NormLayout.h"
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h.inc"
