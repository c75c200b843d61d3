#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "passes/Levels/Border.h"
#include "passes/Levels/Passes.h"

namespace kedge::levels {
#define GEN_PASS_DEF_VERIFYMODEL
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;

struct VerifyModel : impl::VerifyModelBase<VerifyModel> {
  void run() override {
    auto isModel = [](Operation *op) { return Border::isOfModel(op) && !isa<onnx::UnsupportedOp>(op); };
    Border border(getOperation(), "level 1 (ops of onnx, train and dist)", isModel);
    border.checkFunctions();
    func::FuncOp model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model)
      border.error(getOperation()) << "has no @model, which level 1 is";
    for (auto other : getOperation().getOps<func::FuncOp>())
      if (model && other != model)
        (border.error(other) << "is next to @model: functions of a run are made of it later")
                .attachNote(model.getLoc())
            << "@model is here";
    addStatistic("ops checked", border.checked);
    if (border.failed)
      signalPassFailure();
  }
};
} // namespace
} // namespace kedge::levels
