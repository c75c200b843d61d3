#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "lib/Dialect/ONNX/GradientBuilder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "lib/Dialect/ONNX/Math/MathOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerMathOps() {
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/ONNX/Math/MathOps.cpp.inc"
      >();
}
