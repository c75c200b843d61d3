#pragma once
#include "mlir/IR/Dialect.h"
#include "lib/Dialect/Dist/DistDialect.h.inc"
