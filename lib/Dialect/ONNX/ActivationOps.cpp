#include "kedge/Dialect/ONNX/ActivationOps.h"
#include "ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/ActivationOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerActivationOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/ActivationOps.cpp.inc"
      >();
}
