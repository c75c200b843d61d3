#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerReductionOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.cpp.inc"
      >();
}
