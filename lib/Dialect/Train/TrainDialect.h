#pragma once
#include "lib/Dialect/Train/TrainDialect.h.inc"
#include "mlir/IR/Dialect.h"
