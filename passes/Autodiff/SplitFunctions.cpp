#include "FunctionEditing.h"
#include "kedge/Support/Statistics.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_SPLITFUNCTIONS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct SplitFunctions : impl::SplitFunctionsBase<SplitFunctions> {
  using Base::Base;

  void runOnOperation() override {
    auto model = getOperation().lookupSymbol<func::FuncOp>("model");
    if (!model) {
      getOperation().emitError("has no function @model to make the functions of a run from");
      return signalPassFailure();
    }
    bool lossInGraph = !findResult(model, "train.result", "loss_rows");
    func::FuncOp training = copy(model, accumulate > 1 ? "micro" : "step");
    keepResults(training, [](StringRef key, StringRef name) {
      return key == "train.state" || (key == "train.result" && (name == "loss_sum" || name == "items"));
    });
    func::FuncOp evaluation = evaluationCopy(model, "eval");
    keepResults(evaluation, [&](StringRef key, StringRef name) {
      return key == "train.result" && (name == "loss_rows" || name == "item_rows" || (lossInGraph && name == "loss_sum"));
    });
    func::FuncOp prediction = evaluationCopy(model, "predict");
    keepResults(prediction, [](StringRef key, StringRef) { return key == "train.output"; });
    model.erase();
    addStatistic("kedge-split-functions", "functions", 3);
  }

  func::FuncOp copy(func::FuncOp model, StringRef name) {
    func::FuncOp function = model.clone();
    function.setName(name);
    getOperation().insert(model, function);
    return function;
  }

  func::FuncOp evaluationCopy(func::FuncOp model, StringRef name) {
    func::FuncOp function = copy(model, name);
    function->removeAttr("train.loss_gradient");
    function->setAttr("train.evaluation", UnitAttr::get(&getContext()));
    function.walk([&](Operation *op) {
      if (op->getAttrOfType<BoolAttr>("training_mode"))
        op->setAttr("training_mode", BoolAttr::get(&getContext(), false));
    });
    return function;
  }

  static void keepResults(func::FuncOp function, function_ref<bool(StringRef, StringRef)> wanted) {
    eraseResults(function, [&](unsigned index) {
      for (StringRef key : {"train.result", "train.output"})
        if (auto name = function.getResultAttrOfType<StringAttr>(index, key))
          return !wanted(key, name.getValue());
      return !wanted("train.state", "");
    });
    eraseUnused(function);
  }
};
} // namespace
} // namespace kedge::autodiff
