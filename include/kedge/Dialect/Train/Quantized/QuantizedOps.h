#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h.inc"
