#pragma once
#include "lib/Dialect/Dist/DistDialect.h.inc"
#include "mlir/IR/Dialect.h"
