#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Composite/CompositeOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerCompositeOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/Composite/CompositeOps.cpp.inc"
      >();
}
