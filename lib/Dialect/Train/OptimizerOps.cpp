#include "kedge/Dialect/Train/OptimizerOps.h"
#include "kedge/Dialect/Train/LossScaleOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/OptimizerOps.cpp.inc"

void kedge::train::TrainDialect::registerOptimizerOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/OptimizerOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/LossScaleOps.cpp.inc"
      >();
}
