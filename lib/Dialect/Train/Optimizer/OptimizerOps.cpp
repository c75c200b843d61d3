#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.cpp.inc"

void kedge::train::TrainDialect::registerOptimizerOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Loss/LossScaleOps.cpp.inc"
      >();
}
