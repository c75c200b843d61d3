#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Math/MathOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerMathOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/Math/MathOps.cpp.inc"
      >();
}
