#include "lib/Dialect/Train/Loss/LossOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "lib/Dialect/Train/Loss/LossOps.cpp.inc"

void kedge::train::TrainDialect::registerLossOps() {
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/Train/Loss/LossOps.cpp.inc"
      >();
}
