#pragma once
#include "mlir/IR/Dialect.h"
#include "kedge/Dialect/Train/TrainDialect.h.inc"
