#pragma once
#include "lib/Dialect/Tune/TuneDialect.h.inc"
#include "mlir/IR/Dialect.h"
