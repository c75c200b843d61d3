#include "lib/Dialect/Exec/ExecOps.h"
#include "lib/Dialect/Train/TrainDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kedge::exec;

#include "lib/Dialect/Exec/ExecAttrsEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "lib/Dialect/Exec/ExecAttrs.cpp.inc"
#include "lib/Dialect/Exec/ExecDialect.cpp.inc"
#include "lib/Dialect/Exec/ExecInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "lib/Dialect/Exec/ExecOps.cpp.inc"

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto offset = dyn_cast<IntegerAttr>(attribute.getValue());
  bool isOffset =
      attribute.getName() == OffsetNote::getNameStr() && op->getName().getStringRef() == "train.state";
  if (!isOffset || !offset || !offset.getType().isInteger(64) || offset.getInt() < 0)
    return op->emitOpError("has '")
           << attribute.getName().getValue() << "' = " << attribute.getValue()
           << ": the dialect exec knows 'exec.offset', a number of bytes on a train.state";
  return success();
}

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lib/Dialect/Exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/Exec/ExecOps.cpp.inc"
      >();
}
