#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/ONNX/CompositeOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"

using namespace mlir;
using namespace kedge::onnx;

#include "kedge/Dialect/ONNX/ONNXDialect.cpp.inc"

// One registration function a family keeps each family's generated code in its own translation unit.
void ONNXDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/CoreOps.cpp.inc"
      >();
  registerMathOps();
  registerLogicOps();
  registerActivationOps();
  registerReductionOps();
  registerMovementOps();
  registerNeuralNetworkOps();
  registerCompositeOps();
}
