#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Loss/LossOps.cpp.inc"

void kedge::train::TrainDialect::registerLossOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Loss/LossOps.cpp.inc"
      >();
}
