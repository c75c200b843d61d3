#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Autodiff/Backward.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

/// Marks what is built as backward, so that a reader of the IR sees which pass a line belongs to.
struct BackwardLocations : PlaceListener {
  int64_t added = 0;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) override {
    PlaceListener::notifyOperationInserted(op, previous);
    ++added;
    auto name = StringAttr::get(op->getContext(), "backward");
    op->setLoc(NameLoc::get(name, op->getLoc()));
  }
};

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  BackwardLocations listener;

  void run() override {
    listener.added = 0;
    if (failed(expandGradients()))
      return signalPassFailure();
    func::FuncOp function = getOperation();
    auto seed = train::LossGradientNote(function->getContext()).getAttr(function);
    if (!seed)
      return;
    if (failed(differentiateLoss(seed.getValueAsDouble())))
      return signalPassFailure();
    train::LossGradientNote(function->getContext()).removeAttr(function);
    addStatistic("ops added", listener.added);
  }

  /// The backward pass in the place of each train.gradient_of.
  LogicalResult expandGradients() {
    SmallVector<train::GradientOfOp> places(getOperation().getOps<train::GradientOfOp>());
    for (train::GradientOfOp place : places) {
      OpBuilder builder(place);
      builder.setListener(&listener);
      Backward backward(getOperation(), listener);
      if (failed(backward.run(builder, place.getYMutable(), 1.0, place.getXs())))
        return failure();
      for (auto [k, x, result] : llvm::enumerate(place.getXs(), place.getGradients())) {
        Value gradient = backward.gradient(x);
        if (!gradient)
          return place.emitError() << "y does not depend on input " << k << " of xs (" << x.getType()
                                   << "): take it out of xs, or check which value y names";
        result.replaceAllUsesWith(gradient);
      }
      place.erase();
    }
    for (auto variable : llvm::make_early_inc_range(getOperation().getOps<train::VariableOp>())) {
      variable.getResult().replaceAllUsesWith(variable.getValue());
      variable.erase();
    }
    return success();
  }

  LogicalResult differentiateLoss(double seed) {
    func::FuncOp function = getOperation();
    SmallVector<std::pair<StringAttr, BlockArgument>> parameters = findParameters();
    SmallVector<Value> xs;
    for (auto [name, argument] : parameters)
      xs.push_back(argument);
    Value loss = findResult(function, train::BindingKind::Result, "loss_sum");
    if (!loss)
      return function.emitOpError(
          "has the attribute train.loss_gradient, but no result 'loss_sum' to differentiate: run "
          "kedge-add-loss first");
    OpOperand *use =
        llvm::find_if(returnOf(function)->getOpOperands(), [&](OpOperand &o) { return o.get() == loss; });
    OpBuilder builder(returnOf(function));
    builder.setListener(&listener);
    Backward backward(function, listener);
    if (failed(backward.run(builder, *use, seed, xs)))
      return failure();
    int64_t found = 0;
    BoundFunction bound(function);
    for (auto [name, argument] : parameters)
      if (Value gradient = backward.gradient(argument)) {
        // Whoever reads a 16-bit gradient widens it, to the same value.
        bound.addResult(withoutWidening(gradient), train::BindingKind::Gradient, name);
        ++found;
      }
    addStatistic("gradients", found);
    return success();
  }

  /// Arguments that are parameters or working copies of them, by the parameter's name.
  SmallVector<std::pair<StringAttr, BlockArgument>> findParameters() {
    SmallVector<std::pair<StringAttr, BlockArgument>> found;
    const SymbolTable states(getOperation()->getParentOp());
    for (BlockArgument argument : getOperation().getArguments()) {
      auto symbol = train::stateOfArgument(getOperation(), argument.getArgNumber());
      auto state = symbol ? states.lookup<train::StateOp>(symbol.getValue()) : train::StateOp();
      if (state && state.getRole() == train::Role::WorkingCopy)
        state = states.lookup<train::StateOp>(state.getOfAttr().getValue());
      if (state && state.getRole() == train::Role::Parameter)
        found.push_back({state.getSymNameAttr(), argument});
    }
    return found;
  }
};
} // namespace
} // namespace kedge::autodiff
