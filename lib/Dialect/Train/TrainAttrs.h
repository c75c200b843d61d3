#pragma once
#include "lib/Dialect/Train/TrainAttrsEnums.h.inc"
#include "lib/Dialect/Train/TrainDialect.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Train/TrainAttrs.h.inc"
