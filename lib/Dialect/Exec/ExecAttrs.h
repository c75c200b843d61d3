#pragma once
#include "lib/Dialect/Exec/ExecDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "lib/Dialect/Exec/ExecAttrsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Exec/ExecAttrs.h.inc"
