#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.cpp.inc"

void kedge::onnx::ONNXDialect::registerNeuralNetworkOps() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.cpp.inc"
      >();
}
