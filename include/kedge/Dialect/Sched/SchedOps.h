#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Sched/SchedAttrs.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Interfaces/LibraryCallOpInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Sched/SchedOps.h.inc"
