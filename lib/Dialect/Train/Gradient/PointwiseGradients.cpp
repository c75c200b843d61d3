// train.pointwise_grad: the scalar gradients of elementwise functions.
#include "lib/Dialect/Train/Gradient/PointwiseGradients.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

static const PointwiseGradient &gradientOf(PointwiseFunction function) {
  static const PointwiseGradients table = [] {
    PointwiseGradients gradients;
    addFunctionGradients(gradients);
    addActivationGradients(gradients);
    return gradients;
  }();
  return table.at(function);
}

LogicalResult PointwiseGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return failure(); // verify() says how many it needs
  return inferBroadcast(location, adaptor.getInputs(), types);
}

LogicalResult PointwiseGradOp::verify() {
  const unsigned expected = gradientOf(getFunction()).inputs;
  if (getInputs().size() != expected)
    return emitOpError("of '") << stringifyEnum(getFunction()) << "' has " << getInputs().size()
                               << " inputs, expected " << expected;
  return success();
}

void PointwiseGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                       SmallVectorImpl<Value> &results) {
  PointwiseScalars at{body, scalars, getParametersAttr()};
  results.push_back(gradientOf(getFunction()).build(at));
}
