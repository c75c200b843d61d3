#pragma once
#include "lib/Dialect/Train/TrainDialect.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "lib/Dialect/Train/TrainAttrsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Train/TrainAttrs.h.inc"
