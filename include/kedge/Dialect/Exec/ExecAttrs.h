#pragma once
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "kedge/Dialect/Exec/ExecAttrsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Exec/ExecAttrs.h.inc"
