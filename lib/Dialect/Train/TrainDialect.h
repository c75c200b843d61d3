#pragma once
#include "mlir/IR/Dialect.h"
#include "lib/Dialect/Train/TrainDialect.h.inc"
