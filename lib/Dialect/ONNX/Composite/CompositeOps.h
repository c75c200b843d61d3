#pragma once
#include "lib/Dialect/ONNX/Composite/NormLayout.h"
#include "lib/Dialect/ONNX/OnnxFamily.h"
#define GET_OP_CLASSES
#include "lib/Dialect/ONNX/Composite/CompositeOps.h.inc"
