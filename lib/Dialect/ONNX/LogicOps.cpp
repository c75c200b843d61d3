#include "kedge/Dialect/ONNX/LogicOps.h"
#include "ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/LogicOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerLogicOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/LogicOps.cpp.inc"
      >();
}
