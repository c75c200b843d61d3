#include "passes/Autodiff/Backward.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "kedge/Support/Assert.h"
#include "passes/Autodiff/FunctionEditing.h"

namespace kedge::autodiff {
using namespace mlir;

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

LogicalResult Backward::run(OpBuilder &builder, OpOperand &y, double seed, ValueRange xs) {
  active.insert(xs.begin(), xs.end());
  for (Operation &op : function.getBody().front().without_terminator())
    markOp(op);
  if (failed(prepareOps(y.get())))
    return failure();
  Value value = y.get();
  gradients[value] = splat(builder, value.getLoc(), tensorType(value), seed);
  return walkBackwards(builder);
}

void Backward::markOp(Operation &op) {
  if (isa<train::VariableOp>(op))
    return;
  bool reached = false;
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  for (OpOperand &operand : op.getOpOperands())
    reached |= active.contains(operand.get()) &&
               (!differentiable || differentiable.isDifferentiableOperand(operand.getOperandNumber()));
  for (Value result : op.getResults())
    if (reached && isFloat(result))
      active.insert(result);
}

bool Backward::isActive(Operation &op) const {
  return llvm::any_of(op.getResults(), [&](Value result) { return active.contains(result); });
}

/// Decomposes ops without a gradient of their own; reports all that have neither.
LogicalResult Backward::prepareOps(Value y) {
  DenseSet<Value> needed{y};
  bool missing = false;
  Block &block = function.getBody().front();
  for (Operation *op = &block.back(); op;) {
    Operation *previous = op->getPrevNode();
    bool onPath =
        isActive(*op) && llvm::any_of(op->getResults(), [&](Value v) { return needed.contains(v); });
    if (onPath && !isa<DifferentiableOpInterface>(op)) {
      if (succeeded(decompose(op, needed, previous))) {
        op = previous; // the last op of the decomposition
        continue;
      }
      op->emitError() << "'" << op->getName()
                      << "' has no gradient yet, but the loss depends on parameters through it";
      missing = true;
    }
    if (onPath)
      for (Value operand : op->getOperands())
        if (active.contains(operand))
          needed.insert(operand);
    op = previous;
  }
  return failure(missing);
}

LogicalResult Backward::decompose(Operation *op, DenseSet<Value> &needed, Operation *&cursor) {
  auto composite = dyn_cast<DecomposableOpInterface>(op);
  if (!composite)
    return failure();
  PlacedBuilder builder(op);
  SmallVector<Value> results;
  Operation *before = composite->getPrevNode();
  if (failed(composite.decompose(builder, results)))
    return failure();
  for (auto [old, fresh] : llvm::zip(composite->getResults(), results)) {
    if (needed.contains(old))
      needed.insert(fresh);
    if (active.contains(old))
      active.insert(fresh);
    old.replaceAllUsesWith(fresh);
  }
  Operation *first = before ? before->getNextNode() : &composite->getBlock()->front();
  for (Operation *op = first; op != composite; op = op->getNextNode())
    markOp(*op);
  cursor = composite->getPrevNode();
  composite->erase();
  return success();
}

LogicalResult Backward::walkBackwards(OpBuilder &builder) {
  SmallVector<Operation *> forward;
  for (Operation &op : function.getBody().front().without_terminator())
    if (isActive(op))
      forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    SmallVector<Value> resultGrads;
    for (Value result : op->getResults())
      resultGrads.push_back(gradients.lookup(result));
    if (llvm::none_of(resultGrads, [](Value v) { return bool(v); }))
      continue;
    if (failed(differentiate(builder, op, resultGrads)))
      return failure();
  }
  return success();
}

LogicalResult Backward::differentiate(OpBuilder &builder, Operation *op, ArrayRef<Value> resultGrads) {
  auto differentiable = cast<DifferentiableOpInterface>(op);
  SmallVector<Value> operandGrads;
  PlaceAttr place = placeOf(op);
  PlaceScope scope(places, place ? place.in(TrainingPhase::Backward) : place);
  if (failed(differentiable.buildGradient(builder, resultGrads, operandGrads)))
    return op->emitError() << "the gradient of '" << op->getName() << "' does not cover this form of it";
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGrads))
    if (gradient && active.contains(operand) && isFloat(operand))
      accumulate(builder, op->getLoc(), operand, gradient);
  return success();
}

void Backward::accumulate(OpBuilder &builder, Location loc, Value operand, Value gradient) {
  KEDGE_ASSERT(gradient.getType() == operand.getType());
  Value &total = gradients[operand];
  total = total ? onnx::AddOp::create(builder, loc, total, gradient).getResult() : gradient;
}

} // namespace kedge::autodiff
