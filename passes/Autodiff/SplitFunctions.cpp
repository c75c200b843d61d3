#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/abi/LossNames.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_SPLITFUNCTIONS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

struct SplitFunctions : impl::SplitFunctionsBase<SplitFunctions> {
  using Base::Base;

  void run() override {
    auto model = train::functionOf(getOperation(), FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model to make the functions of a run from");
      return signalPassFailure();
    }
    if (accumulate < 1) {
      getOperation().emitError() << "accumulates " << accumulate.getValue()
                                 << " micro-batches a step, expected 1 or more";
      return signalPassFailure();
    }
    bool lossInGraph = !findResult(model, BindingKind::Result, "loss_rows");
    func::FuncOp training = copy(model, hasMicroBatches() ? FunctionKind::Micro : FunctionKind::Step);
    takeMode(training, /*isTraining=*/true);
    keepResults(training, [](train::BindingAttr result) {
      return result.is(BindingKind::State) || result.is(BindingKind::Result, "loss_sum") ||
             result.is(BindingKind::Result, "items") || isMetric(result);
    });
    func::FuncOp evaluation = evaluationCopy(model, FunctionKind::Eval);
    keepResults(evaluation, [&](train::BindingAttr result) {
      return result.is(BindingKind::Result, "loss_rows") || result.is(BindingKind::Result, "item_rows") ||
             (lossInGraph &&
              (result.is(BindingKind::Result, "loss_sum") || result.is(BindingKind::Result, "items")));
    });
    func::FuncOp prediction = evaluationCopy(model, FunctionKind::Predict);
    keepOutputs(prediction);
    model.erase();
    addStatistic("functions", 3);
  }

  static bool isMetric(train::BindingAttr result) {
    return result.getKind() == BindingKind::Result && (result.getName().starts_with(abi::kMetricPrefix) ||
                                                       result.getName().starts_with(abi::kLossPrefix));
  }

  /// A pipeline has micro-batches even where it has one.
  bool hasMicroBatches() {
    return accumulate > 1 || dist::partsOf(getOperation()) || dist::pipelineGroup(getOperation()).ranks > 1;
  }

  func::FuncOp copy(func::FuncOp model, FunctionKind kind) {
    func::FuncOp function = model.clone();
    train::setKind(function, kind);
    getOperation().insert(model, function);
    return function;
  }

  func::FuncOp evaluationCopy(func::FuncOp model, FunctionKind kind) {
    func::FuncOp function = copy(model, kind);
    train::LossGradientNote(function->getContext()).removeAttr(function);
    function.walk([&](Operation *op) {
      if (op->getAttrOfType<BoolAttr>("training_mode"))
        op->setAttr("training_mode", BoolAttr::get(&getContext(), false));
    });
    takeMode(function, /*isTraining=*/false);
    return function;
  }

  static void takeMode(func::FuncOp function, bool isTraining) {
    function.walk([&](train::ByModeOp op) {
      op.getResult().replaceAllUsesWith(isTraining ? op.getTraining() : op.getEvaluation());
      op.erase();
    });
  }

  /// A 16-bit output is widened when the program writes it to a file: a wider copy of the logits here would
  /// be the peak of large batches.
  static void keepOutputs(func::FuncOp function) {
    keepResults(function, [](train::BindingAttr result) { return result.is(BindingKind::Output); });
    for (OpOperand &output : returnOf(function)->getOpOperands())
      output.set(withoutWidening(output.get()));
    eraseUnused(function);
  }

  static void keepResults(func::FuncOp function, function_ref<bool(train::BindingAttr)> wanted) {
    eraseResults(function, [&](unsigned index) {
      train::BindingAttr result = train::bindingOfResult(function, index);
      return !result || !wanted(result);
    });
    eraseUnused(function);
  }
};
} // namespace
} // namespace kedge::autodiff
