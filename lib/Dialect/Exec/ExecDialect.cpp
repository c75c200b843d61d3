#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Dialect/Kedge/NoteRules.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::exec;

#include "kedge/Dialect/Exec/ExecAttrsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "kedge/Dialect/Exec/ExecAttrs.cpp.inc"
#include "kedge/Dialect/Exec/ExecDialect.cpp.inc"
#include "kedge/Dialect/Exec/ExecInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Exec/ExecOps.cpp.inc"

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  static constexpr NoteRule rules[] = {
      {OffsetNote::getNameStr(), "a number of bytes, on a train.state",
       [](Operation *op, Attribute value) { return isa<train::StateOp>(op) && isCount(value); }}};
  return verifyNote(op, attribute, rules);
}

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kedge/Dialect/Exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Exec/ExecOps.cpp.inc"
      >();
}
