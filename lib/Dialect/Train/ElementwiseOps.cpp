#include "lib/Dialect/Train/ElementwiseOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "lib/Dialect/Train/ElementwiseOps.cpp.inc"

void kedge::train::TrainDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/Train/ElementwiseOps.cpp.inc"
      >();
}
