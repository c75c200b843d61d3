#pragma once
#include "lib/Interfaces/LibraryCallOpInterface.h.inc"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
