#include "kedge/Dialect/ONNX/MathOps.h"
#include "ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/MathOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerMathOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/MathOps.cpp.inc"
      >();
}
