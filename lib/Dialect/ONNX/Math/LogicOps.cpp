#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Math/LogicOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerLogicOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/Math/LogicOps.cpp.inc"
      >();
}
