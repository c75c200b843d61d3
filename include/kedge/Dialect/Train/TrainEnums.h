#pragma once
#include "mlir/IR/OpImplementation.h"

#include "kedge/Dialect/Train/TrainEnums.h.inc"
