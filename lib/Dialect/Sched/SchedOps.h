#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Sched/SchedAttrs.h"
#include "lib/Dialect/Sched/SchedDialect.h"
#include "lib/Interfaces/LibraryCallOpInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#define GET_OP_CLASSES
#include "lib/Dialect/Sched/SchedOps.h.inc"
