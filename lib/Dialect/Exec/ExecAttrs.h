#pragma once
#include "lib/Dialect/Exec/ExecAttrsEnums.h.inc"
#include "lib/Dialect/Exec/ExecDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Exec/ExecAttrs.h.inc"
