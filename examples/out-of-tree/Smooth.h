// The dialect that Smooth.td declares.
#pragma once
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "SmoothDialect.h.inc"

#define GET_OP_CLASSES
#include "Smooth.h.inc"
