#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/ElementwiseOps.cpp.inc"

void kedge::train::TrainDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/ElementwiseOps.cpp.inc"
      >();
}
