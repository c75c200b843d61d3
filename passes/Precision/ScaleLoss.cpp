#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_SCALELOSS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

struct ScaleLoss : impl::ScaleLossBase<ScaleLoss> {
  using Base::Base;

  void run() override {
    ModuleOp module = getOperation();
    auto function = train::functionOf(module, train::FunctionKind::Step);
    if (!function)
      function = train::functionOf(module, train::FunctionKind::Micro);
    if (!function) {
      module.emitError("has neither @step nor @micro whose loss could be scaled");
      return signalPassFailure();
    }
    if (!(init > 0) || !std::isfinite(init)) {
      module.emitError() << "a loss scale of " << init.getValue() << ": expected a positive finite number";
      return signalPassFailure();
    }
    makeStates(module);
    if (!scale(function))
      return signalPassFailure();
    addStatistic("losses scaled", 1);
  }

  void makeStates(ModuleOp module) {
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    Type integer = builder.getI64Type();
    makeState(builder, "scaler.loss_scale", builder.getF32Type(), builder.getF64FloatAttr(init));
    makeState(builder, "scaler.growth_counter", integer, builder.getUnitAttr());
    makeState(builder, "scaler.hysteresis", integer,
              builder.getF64FloatAttr(static_cast<double>(hysteresis)));
    makeState(builder, "scaler.optimizer_steps", integer, builder.getUnitAttr());
  }

  void makeState(OpBuilder &builder, StringRef name, Type element, Attribute initial) {
    train::StateOp::create(builder, builder.getUnknownLoc(), builder.getStringAttr(name),
                           train::RoleAttr::get(&getContext(), train::Role::Scaler),
                           TypeAttr::get(RankedTensorType::get({}, element)), initial, StringAttr(),
                           FlatSymbolRefAttr(), builder.getBoolAttr(true), builder.getF64FloatAttr(1.0));
  }

  /// The result loss_sum comes from a train.scale_loss.
  bool scale(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    for (OpOperand &result : terminator->getOpOperands()) {
      train::BindingAttr bound = train::bindingOfResult(function, result.getOperandNumber());
      if (!bound || !bound.is(train::BindingKind::Result, "loss_sum"))
        continue;
      PlacedBuilder builder(terminator, PlaceAttr::get(&getContext(), TrainingPhase::Forward, "", "loss"));
      Value scale = addScaleArgument(function, builder);
      result.set(train::ScaleLossOp::create(builder, result.get().getLoc(), result.get(), scale));
      return true;
    }
    function.emitError("has no result loss_sum to scale");
    return false;
  }

  Value addScaleArgument(func::FuncOp function, OpBuilder &builder) {
    unsigned index = function.getNumArguments();
    auto binding = train::BindingAttr::get(&getContext(), train::BindingKind::State, "scaler.loss_scale");
    Type type = RankedTensorType::get({}, builder.getF32Type());
    (void)function.insertArgument(index, type, train::boundTo(binding), function.getLoc());
    return function.getArgument(index);
  }
};
} // namespace
} // namespace kedge::precision
