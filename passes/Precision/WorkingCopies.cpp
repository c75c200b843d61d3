#include "passes/Precision/WorkingCopies.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"

using namespace mlir;

namespace kedge::precision {

train::BindingAttr bindingOf(train::StateOp state) {
  return train::BindingAttr::get(state.getContext(), train::BindingKind::State, state.getSymName());
}

train::StateOp makeWorkingCopy(train::StateOp master, Type element) {
  OpBuilder builder(master);
  builder.setInsertionPointAfter(master);
  auto type = cast<RankedTensorType>(master.getType()).clone(element);
  return train::StateOp::create(
      builder, master.getLoc(), builder.getStringAttr(master.getSymName() + ".working"),
      train::RoleAttr::get(master.getContext(), train::Role::WorkingCopy), TypeAttr::get(type),
      builder.getUnitAttr(), StringAttr(), FlatSymbolRefAttr::get(master.getSymNameAttr()),
      builder.getBoolAttr(true), builder.getF64FloatAttr(1.0));
}

static func::FuncOp restoreBehind(func::FuncOp model) {
  if (func::FuncOp known =
          train::functionOf(model->getParentOfType<ModuleOp>(), train::FunctionKind::Restore))
    return known;
  OpBuilder builder(model.getContext());
  builder.setInsertionPointAfter(model);
  auto restore = func::FuncOp::create(builder, model.getLoc(), "restore", builder.getFunctionType({}, {}));
  train::setKind(restore, train::FunctionKind::Restore);
  builder.setInsertionPointToStart(restore.addEntryBlock());
  func::ReturnOp::create(builder, model.getLoc());
  return restore;
}

void addToRestore(func::FuncOp model, ArrayRef<CopiedState> made) {
  if (made.empty())
    return;
  func::FuncOp restore = restoreBehind(model);
  Operation *terminator = restore.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  for (auto [master, working] : made) {
    unsigned argument = restore.getNumArguments(), result = restore.getNumResults();
    (void)restore.insertArgument(argument, master.getType(), train::boundTo(bindingOf(master)),
                                 model.getLoc());
    (void)restore.insertResult(result, working.getType(), train::boundTo(bindingOf(working)));
    Type element = cast<RankedTensorType>(working.getType()).getElementType();
    Value copy =
        onnx::CastOp::create(builder, master.getLoc(), restore.getArgument(argument), TypeAttr::get(element));
    setPlace(copy.getDefiningOp(),
             PlaceAttr::get(model.getContext(), TrainingPhase::Update, "", master.getSymName()));
    terminator->insertOperands(result, copy);
  }
}

} // namespace kedge::precision
