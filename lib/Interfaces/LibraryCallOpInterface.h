#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "lib/Interfaces/LibraryCallOpInterface.h.inc"
