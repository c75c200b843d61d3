// Gradients of the reductions.
#include "ElementwiseUtils.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

LogicalResult ReduceSumOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(train::ReduceGradOp::create(builder, getLoc(), resultGrads[0], ValueRange(), "Sum",
                                                     shapeOf(getX()), getAxes(), getKeepdims()));
  return success();
}
