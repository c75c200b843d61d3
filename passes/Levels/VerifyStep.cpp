#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Levels/Border.h"
#include "passes/Levels/Passes.h"

namespace kedge::levels {
#define GEN_PASS_DEF_VERIFYSTEP
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;

struct VerifyStep : impl::VerifyStepBase<VerifyStep> {
  void run() override {
    auto isStep = [](Operation *op) {
      return Border::isOfModel(op) && !isa<onnx::UnsupportedOp, train::GradientOfOp, train::VariableOp>(op);
    };
    Border border(getOperation(), "level 2 (ops of onnx, train and dist, gradients written out)", isStep);
    border.checkFunctions();
    checkNames(border);
    const SymbolTable states(getOperation());
    getOperation().walk([&](train::FinalGradientOp gradient) { checkParameter(border, states, gradient); });
    addStatistic("ops checked", border.checked);
    if (border.failed)
      signalPassFailure();
  }

  void checkNames(Border &border) {
    using Kind = train::FunctionKind;
    auto find = [&](Kind kind) { return train::functionOf(getOperation(), kind); };
    func::FuncOp step = find(Kind::Step), micro = find(Kind::Micro), update = find(Kind::Update);
    if (func::FuncOp model = find(Kind::Model))
      border.error(model) << "is of level 1: on level 2 it is split into the functions of a run";
    if (!step && !micro)
      border.error(getOperation()) << "has neither @step nor @micro";
    if (step && micro)
      (border.error(micro) << "is next to @step: a step is one or the other").attachNote(step.getLoc())
          << "@step is here";
    if (bool(micro) != bool(update) && !step)
      border.error(micro ? micro : update) << "needs " << (micro ? "@update" : "@micro") << " next to it";
  }

  /// Of the whole parameter or, where ranks share the work, of a rank's part.
  bool isGradientOf(Type gradient, train::StateOp state) {
    RankedTensorType box = state.boxType();
    return train::isGradientType(gradient, box) ||
           train::isGradientType(
               gradient,
               dist::localShardOf(box, dist::partGroup(getOperation(), state.getShardingAttr()).ranks));
  }

  void checkParameter(Border &border, const SymbolTable &states, train::FinalGradientOp gradient) {
    auto state = states.lookup<train::StateOp>(gradient.getParameter());
    if (!state)
      border.error(gradient) << "is of @" << gradient.getParameter() << ", which is no state";
    else if (Type type = gradient.getGradient().getType(); !isGradientOf(type, state))
      (border.error(gradient) << "is " << type << ", its parameter " << state.boxType())
              .attachNote(state.getLoc())
          << "the parameter is declared here";
  }
};
} // namespace
} // namespace kedge::levels
