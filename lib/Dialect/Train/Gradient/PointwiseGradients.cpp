// train.pointwise_grad: the scalar gradients of elementwise functions.
#include "lib/Dialect/Train/Gradient/PointwiseGradients.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/ElementwiseOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

static const PointwiseGradient *findPointwiseGradient(StringRef function) {
  static const llvm::StringMap<PointwiseGradient> table = [] {
    llvm::StringMap<PointwiseGradient> gradients;
    addFunctionGradients(gradients);
    addActivationGradients(gradients);
    return gradients;
  }();
  auto found = table.find(function);
  return found == table.end() ? nullptr : &found->second;
}

LogicalResult PointwiseGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty())
    return failure(); // verify() says how many it needs
  return inferBroadcast(location, adaptor.getInputs(), types);
}

LogicalResult PointwiseGradOp::verify() {
  const PointwiseGradient *gradient = findPointwiseGradient(getFunction());
  if (!gradient)
    return emitOpError("has no gradient of function '") << getFunction() << "'";
  if (getInputs().size() != gradient->inputs)
    return emitOpError("of '") << getFunction() << "' has " << getInputs().size() << " inputs, expected "
                               << gradient->inputs;
  return success();
}

void PointwiseGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                       SmallVectorImpl<Value> &results) {
  PointwiseScalars at{body, scalars, getParametersAttr()};
  results.push_back(findPointwiseGradient(getFunction())->build(at));
}
