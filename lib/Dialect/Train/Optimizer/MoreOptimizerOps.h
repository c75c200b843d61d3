#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Train/Optimizer/OptimizerShapes.h"
#include "lib/Dialect/Train/TrainDialect.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Train/Optimizer/MoreOptimizerOps.h.inc"
