#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "lib/Dialect/ONNX/Positions.h"
#include "lib/Dialect/ONNX/Sharding.h"

using namespace mlir;
using namespace kedge::onnx;

#include "kedge/Dialect/ONNX/ONNXDialect.cpp.inc"
#include "kedge/Dialect/ONNX/OnnxEnums.cpp.inc"

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
  registerShardings(getContext());
  registerPositions(getContext());
}
