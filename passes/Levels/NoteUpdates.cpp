#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Levels/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::levels {
#define GEN_PASS_DEF_NOTEUPDATES
#include "passes/Levels/Passes.h.inc"

namespace {
using namespace mlir;

struct NoteUpdates : impl::NoteUpdatesBase<NoteUpdates> {
  llvm::SetVector<Attribute> states;

  void run() override {
    states.clear();
    func::FuncOp model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model)
      return;
    for (OpOperand &result : model.getBody().front().getTerminator()->getOpOperands())
      if (!isa<BlockArgument>(result.get()))
        note(train::stateOfResult(model, result.getOperandNumber()));
    model.walk([&](train::BatchNormOp norm) {
      noteArgument(model, norm.getInputMean());
      noteArgument(model, norm.getInputVar());
    });
    if (!states.empty())
      train::UpdatesNote(&getContext())
          .setAttr(getOperation(), ArrayAttr::get(&getContext(), states.getArrayRef()));
    addStatistic("states noted", static_cast<int64_t>(states.size()));
  }

  void note(FlatSymbolRefAttr state) {
    if (state)
      states.insert(state);
  }

  void noteArgument(func::FuncOp model, Value value) {
    while (auto cast = value.getDefiningOp<onnx::CastOp>())
      value = cast.getX();
    if (auto argument = dyn_cast<BlockArgument>(value))
      note(train::stateOfArgument(model, argument.getArgNumber()));
  }
};
} // namespace
} // namespace kedge::levels
