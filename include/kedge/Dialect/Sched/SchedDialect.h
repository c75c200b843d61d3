#pragma once
#include "mlir/IR/Dialect.h"
#include "kedge/Dialect/Sched/SchedDialect.h.inc"
