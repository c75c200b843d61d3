#pragma once
#include "mlir/IR/OpImplementation.h"

#include "lib/Dialect/Train/TrainEnums.h.inc"
