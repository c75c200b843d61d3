#pragma once
#include "mlir/IR/Dialect.h"
#include "kedge/Dialect/Dist/DistDialect.h.inc"
