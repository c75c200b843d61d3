#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.cpp.inc"

void kedge::train::TrainDialect::registerOnnxOptimizerOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.cpp.inc"
      >();
}
