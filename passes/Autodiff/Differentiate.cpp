#include "FunctionEditing.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "kedge/Support/Statistics.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

/// Marks what is built as backward, so that a reader of the IR sees which pass a line belongs to.
struct BackwardLocations : OpBuilder::Listener {
  int64_t added = 0;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    ++added;
    auto name = StringAttr::get(op->getContext(), "backward");
    op->setLoc(NameLoc::get(name, op->getLoc()));
  }
};

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto seed = function->getAttrOfType<FloatAttr>("train.loss_gradient");
    if (!seed)
      return;
    active.clear();
    gradients.clear();
    Value loss = findResult(function, "train.result", "loss_sum");
    SmallVector<std::pair<StringAttr, BlockArgument>> parameters = findParameters();
    markActive(parameters);
    if (failed(prepareOps(loss)))
      return signalPassFailure();
    BackwardLocations listener;
    OpBuilder builder(returnOf(function));
    builder.setListener(&listener);
    gradients[loss] = splat(builder, loc(loss), tensorType(loss), seed.getValueAsDouble());
    if (failed(walkBackwards(builder)))
      return signalPassFailure();
    int64_t found = 0;
    for (auto [name, argument] : parameters)
      if (Value gradient = gradients.lookup(argument)) {
        addResult(function, gradient, "train.gradient", FlatSymbolRefAttr::get(name));
        ++found;
      }
    function->removeAttr("train.loss_gradient");
    addStatistic("kedge-differentiate", "gradients", found);
    addStatistic("kedge-differentiate", "ops added", listener.added);
  }

  static Location loc(Value value) { return value.getLoc(); }

  /// Arguments that are states of role parameter.
  SmallVector<std::pair<StringAttr, BlockArgument>> findParameters() {
    SmallVector<std::pair<StringAttr, BlockArgument>> found;
    Operation *module = getOperation()->getParentOp();
    for (BlockArgument argument : getOperation().getArguments()) {
      auto symbol = getOperation().getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(), "train.state");
      auto state = symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(module, symbol) : train::StateOp();
      if (state && state.getRole() == train::Role::Parameter)
        found.push_back({symbol.getAttr(), argument});
    }
    return found;
  }

  static bool isFloat(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && isa<FloatType>(type.getElementType());
  }

  /// Values that a change of a parameter changes.
  void markActive(ArrayRef<std::pair<StringAttr, BlockArgument>> parameters) {
    for (auto [name, argument] : parameters)
      active.insert(argument);
    for (Operation &op : getOperation().getBody().front().without_terminator())
      markOp(op);
  }

  void markOp(Operation &op) {
    bool reached = false;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    for (OpOperand &operand : op.getOpOperands())
      reached |= active.contains(operand.get()) &&
                 (!differentiable || differentiable.isDifferentiableOperand(operand.getOperandNumber()));
    for (Value result : op.getResults())
      if (reached && isFloat(result))
        active.insert(result);
  }

  bool isActive(Operation &op) {
    return llvm::any_of(op.getResults(), [&](Value result) { return active.contains(result); });
  }

  /// Decomposes ops without a gradient of their own; reports all that have neither.
  LogicalResult prepareOps(Value loss) {
    DenseSet<Value> needed{loss};
    bool missing = false;
    Block &block = getOperation().getBody().front();
    for (Operation *op = &block.back(); op;) {
      Operation *previous = op->getPrevNode();
      bool onPath = isActive(*op) && llvm::any_of(op->getResults(), [&](Value v) { return needed.contains(v); });
      if (onPath && !isa<DifferentiableOpInterface>(op)) {
        auto composite = dyn_cast<DecomposableOpInterface>(op);
        if (composite && succeeded(decompose(composite, needed, previous)))
          continue; // `previous` is now the last op of the decomposition
        op->emitError() << "'" << op->getName() << "' has no gradient yet, but the loss depends on parameters through it";
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

  LogicalResult decompose(DecomposableOpInterface composite, DenseSet<Value> &needed, Operation *&cursor) {
    OpBuilder builder(composite);
    SmallVector<Value> results;
    Operation *before = composite->getPrevNode();
    if (failed(composite.decompose(builder, results)))
      return failure();
    for (auto [old, fresh] : llvm::zip(composite->getResults(), results)) {
      if (needed.contains(old))
        needed.insert(fresh);
      old.replaceAllUsesWith(fresh);
    }
    Operation *first = before ? before->getNextNode() : &composite->getBlock()->front();
    for (Operation *op = first; op != composite; op = op->getNextNode())
      markOp(*op);
    cursor = composite->getPrevNode();
    composite->erase();
    return success();
  }

  LogicalResult walkBackwards(OpBuilder &builder) {
    SmallVector<Operation *> forward;
    for (Operation &op : getOperation().getBody().front().without_terminator())
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

  LogicalResult differentiate(OpBuilder &builder, Operation *op, ArrayRef<Value> resultGrads) {
    auto differentiable = cast<DifferentiableOpInterface>(op);
    SmallVector<Value> operandGrads;
    if (failed(differentiable.buildGradient(builder, resultGrads, operandGrads)))
      return op->emitError() << "the gradient of '" << op->getName() << "' does not cover this form of it";
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGrads))
      if (gradient && active.contains(operand) && isFloat(operand))
        accumulate(builder, op->getLoc(), operand, gradient);
    return success();
  }

  void accumulate(OpBuilder &builder, Location loc, Value operand, Value gradient) {
    assert(gradient.getType() == operand.getType());
    Value &total = gradients[operand];
    total = total ? onnx::AddOp::create(builder, loc, total, gradient).getResult() : gradient;
  }
};
} // namespace
} // namespace kedge::autodiff
