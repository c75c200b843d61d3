#pragma once
#include "mlir/IR/Dialect.h"
#include "lib/Dialect/Tune/TuneDialect.h.inc"
