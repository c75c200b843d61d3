#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "kedge/Dialect/Sched/SchedAttrsEnums.h.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Sched/SchedOps.h.inc"
