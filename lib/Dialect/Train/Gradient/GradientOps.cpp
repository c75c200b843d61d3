#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Gradient/GradientOps.cpp.inc"

void kedge::train::TrainDialect::registerGradientOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Train/Gradient/GradientOps.cpp.inc"
      >();
}
