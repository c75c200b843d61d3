#include "Snake.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

using namespace snake;

#include "SnakeDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Snake.cpp.inc"

void SnakeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Snake.cpp.inc"
      >();
  addInterface<kedge::OnnxDomainInterface>("com.example");
}

/// What one number becomes: kernels are made of it.
void SnakeOp::buildClusterBody(kedge::ClusterBodyBuilder &body, mlir::ValueRange scalars,
                               llvm::SmallVectorImpl<mlir::Value> &results) {
  const mlir::Value x = scalars[0], alpha = body.constant(x.getType(), getAlpha().convertToDouble());
  const mlir::Value wave = body.sin(body.mul(alpha, x));
  results.push_back(body.add(x, body.div(body.mul(wave, wave), alpha)));
}

/// 1 + sin(2 alpha x), times the gradient of the result.
llvm::LogicalResult SnakeOp::buildGradient(mlir::OpBuilder &builder, mlir::ValueRange resultGrads,
                                           llvm::SmallVectorImpl<mlir::Value> &operandGrads) {
  kedge::GradientBuilder math{builder, getLoc()};
  const mlir::Value grad = resultGrads[0];
  const mlir::Value turned = math.scale(getX(), 2 * getAlpha().convertToDouble());
  const mlir::Value wave = kedge::onnx::SinOp::create(builder, getLoc(), turned);
  operandGrads.push_back(math.add(grad, math.mul(grad, wave)));
  return mlir::success();
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "snake", "1",
          [](mlir::DialectRegistry *registry) { registry->insert<SnakeDialect>(); }};
}
