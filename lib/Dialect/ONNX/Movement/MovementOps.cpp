#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Movement/MovementOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerMovementOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/Movement/MovementOps.cpp.inc"
      >();
}
