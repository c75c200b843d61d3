#pragma once
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#define GET_OP_CLASSES
#include "kedge/Dialect/Exec/ExecOps.h.inc"
