#pragma once
#include "mlir/IR/Dialect.h"

#include "kedge/Dialect/Tune/TuneDialect.h.inc"
