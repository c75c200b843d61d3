#include "passes/Levels/Border.h"
#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "lib/Support/TensorLimits.h"

using namespace mlir;

namespace kedge::levels {
namespace {

bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

} // namespace

bool Border::isOfModel(Operation *op) {
  return isa_and_present<onnx::ONNXDialect, train::TrainDialect, dist::DistDialect>(op->getDialect()) ||
         isOfOnnxDomain(op);
}

void Border::checkFunctions() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    checkBindings(function);
    for (Operation &op : function.getBody().front().without_terminator())
      checkOp(op);
  }
}

void Border::checkBindings(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    if (train::bindingOfArgument(function, argument.getArgNumber()))
      continue;
    auto message = error(function) << "has argument " << argument.getArgNumber()
                                   << ", which is bound to no state, input or scalar";
    for (Operation *user : argument.getUsers())
      return void(message.attachNote(user->getLoc()) << "it is read here");
  }
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (!train::bindingOfResult(function, index))
      (error(function) << "has result " << index << ", which is bound to no state, output or result")
              .attachNote(function.getBody().front().getTerminator()->getLoc())
          << "it is returned here";
}

void Border::checkOp(Operation &op) {
  ++checked;
  if (!belongs(&op)) {
    auto message = error(&op) << "is none of " << level;
    for (Operation *user : op.getUsers())
      return void(message.attachNote(user->getLoc()) << "its result is read here");
    return;
  }
  for (Type type : op.getResultTypes())
    if (!isStatic(type))
      return void(error(&op) << "makes " << type << ": every shape is known on " << level);
  for (Type type : op.getResultTypes())
    if (std::string why = tooLarge(cast<RankedTensorType>(type).getShape()); !why.empty())
      return void(error(&op) << "cannot be computed: " << why);
  checkPlace(op);
}

/// What reads or makes the op's values knows where it came from.
void Border::checkPlace(Operation &op) {
  if (!needsPlace(&op) || placeOf(&op))
    return;
  auto message = error(&op) << "lacks '" << placeName << "': what made it forgot where it belongs";
  SmallVector<Operation *> neighbours(op.getUsers());
  for (Value operand : op.getOperands())
    if (Operation *producer = operand.getDefiningOp())
      neighbours.push_back(producer);
  for (Operation *neighbour : neighbours)
    if (PlaceAttr place = placeOf(neighbour))
      return void(message.attachNote(neighbour->getLoc()) << "next to it is " << place);
}

} // namespace kedge::levels
