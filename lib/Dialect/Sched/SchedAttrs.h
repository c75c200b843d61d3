#pragma once
#include "lib/Dialect/Sched/SchedAttrsEnums.h.inc"
#include "mlir/IR/BuiltinAttributes.h"

#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Sched/SchedAttrs.h.inc"
