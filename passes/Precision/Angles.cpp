#include "passes/Precision/Angles.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Precision/Floats.h"

namespace kedge::precision {
using namespace mlir;

/// At most one axis is longer than 1.
static bool isVector(Value value) {
  return llvm::count_if(shapeOf(value), [](int64_t length) { return length != 1; }) <= 1;
}

bool Angles::areFrequencies(BlockArgument argument) {
  return isCastable(argument) && isVector(argument) && !argument.use_empty() && isSteady(argument) &&
         onlyTurns(argument);
}

bool Angles::onlyTurns(Value value) {
  auto [known, isNew] = turning.try_emplace(value, false);
  if (!isNew)
    return known->second;
  bool turns = !value.use_empty() &&
               llvm::all_of(value.getUsers(), [&](Operation *user) { return endsInAngle(user); });
  return turning[value] = turns;
}

bool Angles::endsInAngle(Operation *op) {
  if (isa<onnx::SinOp, onnx::CosOp>(op))
    return true;
  return op->getNumResults() > 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isSteady(operand); }) &&
         llvm::all_of(op->getResults(), [&](Value result) { return onlyTurns(result); });
}

/// Follows from positions, constants and vectors: from no activation.
bool Angles::isSteady(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isSteadyArgument(argument);
  auto [known, isNew] = steady.try_emplace(value, false);
  if (!isNew)
    return known->second;
  bool all =
      llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value operand) { return isSteady(operand); });
  return steady[value] = all;
}

bool Angles::isSteadyArgument(BlockArgument argument) {
  if (!isa<FloatType>(elementOf(argument)))
    return true;
  FlatSymbolRefAttr symbol = train::stateOfArgument(model, argument.getArgNumber());
  auto state =
      symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(model, symbol) : train::StateOp();
  if (!state)
    return false;
  bool learns = state.getRole() == train::Role::Parameter || state.getRole() == train::Role::Frozen ||
                state.getRole() == train::Role::WorkingCopy;
  return !learns || isVector(argument);
}

} // namespace kedge::precision
