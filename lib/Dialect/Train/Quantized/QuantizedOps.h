#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Train/TrainDialect.h"
#include "lib/Dialect/Tune/TuneAttrs.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Train/Quantized/QuantizedOps.h.inc"
