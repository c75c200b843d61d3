#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Math/ActivationOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerActivationOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/Math/ActivationOps.cpp.inc"
      >();
}
