#include "passes/Mesh/ParameterLayouts.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"

using namespace mlir;

namespace kedge::mesh {

ParameterLayouts::ParameterLayouts(func::FuncOp function, const StateLayouts &states)
    : function(function), states(states) {
  auto module = function->getParentOfType<ModuleOp>();
  for (auto state : module.getOps<train::StateOp>()) {
    if (state.getOfAttr())
      parameters[state.getSymNameAttr()] = state.getOfAttr().getAttr();
    if (state.getRole() == train::Role::WorkingCopy)
      copies[state.getOfAttr().getAttr()] = state.getSymNameAttr();
  }
}

StringAttr ParameterLayouts::parameterOf(StringAttr name) const {
  auto found = parameters.find(name);
  return found == parameters.end() ? name : found->second;
}

/// In 16 bits what computes decides, the working copy.
Layout ParameterLayouts::layoutOf(StringAttr parameter) const {
  if (Layout layout = states.lookup(parameter); layout.isCut())
    return layout;
  return states.lookup(copies.lookup(parameter));
}

/// Of the parameter that an op of the optimizer updates, or a state of it.
Layout ParameterLayouts::ofUpdated(Operation *op, Type gradient) const {
  const PlaceAttr place = placeOf(op);
  if (!place || place.getPhase() != TrainingPhase::Update)
    return {};
  for (Value operand : op->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(operand); argument && argument.getType() == gradient)
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        return layoutOf(parameterOf(state.getAttr()));
  return {};
}

Layout ParameterLayouts::ofGradient(Value value) const { return ofGradient(value, 0); }

Layout ParameterLayouts::ofGradient(Value value, int depth) const {
  constexpr int kDeepest = 8;
  const auto isSameShape = [&](Type other) {
    auto type = dyn_cast<RankedTensorType>(other);
    return type && type.getShape() == cast<RankedTensorType>(value.getType()).getShape();
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto gradient = dyn_cast<train::FinalGradientOp>(user))
      return layoutOf(gradient.getParameterAttr().getAttr());
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      auto state = train::stateOfResult(function, use.getOperandNumber());
      return state ? layoutOf(parameterOf(state.getAttr())) : Layout();
    }
    if (Layout layout = ofUpdated(user, value.getType()); layout.isCut())
      return layout;
    const bool isTerm = (user->hasTrait<ComputesEachElement>() && user->getNumOperands() == 1) ||
                        isa<onnx::AddOp, train::AccumulateOp, dist::AllReduceOp>(user);
    const bool isPart = isa<dist::ReduceScatterOp, dist::AllGatherOp>(user); // along another axis, flat
    if ((!isTerm && !isPart) || depth == kDeepest)
      continue;
    Value sum = user->getResult(user->getNumResults() > 1 ? use.getOperandNumber() : 0);
    if (!isPart && !isSameShape(sum.getType()))
      continue;
    if (Layout layout = ofGradient(sum, depth + 1); layout.isCut())
      return layout;
  }
  return {};
}

} // namespace kedge::mesh
