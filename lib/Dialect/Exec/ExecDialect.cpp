#include "kedge/Dialect/Exec/ExecOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge::exec;

#include "kedge/Dialect/Exec/ExecDialect.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Exec/ExecOps.cpp.inc"
      >();
}
