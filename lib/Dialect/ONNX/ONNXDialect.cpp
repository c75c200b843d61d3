#include "lib/Dialect/ONNX/ONNXDialect.h"
#include "lib/Dialect/ONNX/Composite/CompositeOps.h"
#include "lib/Dialect/ONNX/CoreOps.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "lib/Dialect/ONNX/Reduction/ReductionOps.h"
#include "lib/Dialect/ONNX/Sharding.h"

using namespace mlir;
using namespace kedge::onnx;

#include "lib/Dialect/ONNX/ONNXDialect.cpp.inc"
#include "lib/Dialect/ONNX/OnnxEnums.cpp.inc"

// One registration function a family keeps each family's generated code in its own translation unit.
void ONNXDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "lib/Dialect/ONNX/CoreOps.cpp.inc"
      >();
  registerMathOps();
  registerLogicOps();
  registerActivationOps();
  registerReductionOps();
  registerMovementOps();
  registerNeuralNetworkOps();
  registerCompositeOps();
  registerShardings(getContext());
}
