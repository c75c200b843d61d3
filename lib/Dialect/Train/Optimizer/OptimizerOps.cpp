#include "lib/Dialect/Train/Optimizer/OptimizerOps.h"
#include "lib/Dialect/Train/Loss/LossScaleOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "lib/Dialect/Train/Optimizer/OptimizerOps.cpp.inc"

void kedge::train::TrainDialect::registerOptimizerOps() {
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/Train/Optimizer/OptimizerOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/Train/Loss/LossScaleOps.cpp.inc"
      >();
}
