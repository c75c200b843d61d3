#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Levels/Passes.h"

namespace kedge::levels {
#define GEN_PASS_DEF_CHECKUPDATES
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;
using train::FunctionKind;

struct CheckUpdates : impl::CheckUpdatesBase<CheckUpdates> {
  llvm::DenseSet<Attribute> updated; ///< symbols that a function of the step gives a new value
  bool failed = false;
  int64_t checked = 0;

  void run() override {
    updated.clear();
    failed = false;
    checked = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (std::optional<FunctionKind> kind = train::kindOf(function);
          kind == FunctionKind::Step || kind == FunctionKind::Micro || kind == FunctionKind::Update)
        collect(function);
    if (auto noted = train::UpdatesNote(&getContext()).getAttr(getOperation()))
      for (Attribute symbol : noted)
        check(cast<FlatSymbolRefAttr>(symbol),
              "is updated by the model, but keeps its first value in every step");
    train::UpdatesNote(&getContext()).removeAttr(getOperation());
    getOperation().walk([&](train::FinalGradientOp gradient) {
      check(gradient.getParameterAttr(), "has a gradient, but keeps its first value in every step");
    });
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == train::Role::WorkingCopy && updated.contains(state.getOfAttr()))
        check(FlatSymbolRefAttr::get(state.getSymNameAttr()),
              "is a working copy that does not follow its master");
    addStatistic("updates checked", checked);
    if (failed)
      signalPassFailure();
  }

  void collect(func::FuncOp function) {
    for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands()) {
      FlatSymbolRefAttr state = train::stateOfResult(function, result.getOperandNumber());
      auto argument = dyn_cast<BlockArgument>(result.get());
      bool isKept = argument && train::stateOfArgument(function, argument.getArgNumber()) == state;
      if (state && !isKept)
        updated.insert(state);
    }
  }

  void check(FlatSymbolRefAttr symbol, StringRef what) {
    ++checked;
    if (updated.contains(symbol))
      return;
    failed = true;
    if (auto state = getOperation().lookupSymbol<train::StateOp>(symbol))
      state.emitOpError() << "'" << state.getOnnxName().value_or(state.getSymName()) << "' " << what;
    else
      getOperation().emitError() << symbol << " is no state, but is to be updated";
  }
};
} // namespace
} // namespace kedge::levels
