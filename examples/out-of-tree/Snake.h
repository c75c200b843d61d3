// The dialect that Snake.td declares.
#pragma once
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "SnakeDialect.h.inc"

#define GET_OP_CLASSES
#include "Snake.h.inc"
