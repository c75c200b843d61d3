#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

#include "kedge/Interfaces/LibraryCallOpInterface.h.inc"
