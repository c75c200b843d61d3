#pragma once
#include "mlir/IR/BuiltinAttributes.h"

#include "kedge/Dialect/Sched/SchedAttrsEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Sched/SchedAttrs.h.inc"
