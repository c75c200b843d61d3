#pragma once
#include "kedge/Dialect/Train/TrainDialect.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "kedge/Dialect/Train/TrainAttrsEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Train/TrainAttrs.h.inc"
