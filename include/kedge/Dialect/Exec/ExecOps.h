#pragma once
#include "kedge/Dialect/Exec/ExecAttrs.h"
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "kedge/Dialect/Exec/ExecInterfaces.h.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Exec/ExecOps.h.inc"
