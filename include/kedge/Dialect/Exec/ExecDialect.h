#pragma once
#include "mlir/IR/Dialect.h"
#include "kedge/Dialect/Exec/ExecDialect.h.inc"
