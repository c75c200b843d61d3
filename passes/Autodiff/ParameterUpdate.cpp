#include "passes/Autodiff/ParameterUpdate.h"
#include "lib/Dialect/ONNX/GradientUtils.h"
#include "lib/Dialect/ONNX/Math/LogicOps.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/Optimizer/OptimizerOps.h"
#include "lib/Support/StorageBytes.h"

using namespace mlir;

namespace kedge::autodiff {
using train::BindingKind;

ParameterUpdate::ParameterUpdate(func::FuncOp function, PlacedBuilder &builder, Trained &one, Value scale,
                                 train::StateOp workingCopy, Scaler &scaler, const UpdateSettings &settings)
    : function(function), builder(builder), loc(one.state.getLoc()), state(one.state),
      param(argumentFor(function, BindingKind::State, one.state.getSymName(), one.state.getType())),
      gradient(one.gradient), scale(scale), settings(settings), workingCopy(workingCopy), scaler(scaler) {}

Value ParameterUpdate::scalar(StringRef name) const {
  return argumentFor(function, BindingKind::Scalar, name, RankedTensorType::get({}, builder.getF32Type()));
}

Value ParameterUpdate::counter(StringRef name) const {
  return argumentFor(function, BindingKind::Scalar, name, RankedTensorType::get({}, builder.getI64Type()));
}

Value ParameterUpdate::adamCorrection(StringRef which) {
  if (!scaler.steps)
    return scalar(which);
  if (!scaler.corrections) {
    auto exact = [&](StringRef name) {
      return argumentFor(function, BindingKind::Scalar, name,
                         RankedTensorType::get({}, builder.getF64Type()));
    };
    scaler.corrections = train::AdamCorrectionsOp::create(builder, loc, scaler.steps, exact("exact_lr"),
                                                          exact("exact_beta1"), exact("exact_beta2"));
  }
  return which == "step_size" ? scaler.corrections.getStepSize()
                              : scaler.corrections.getBiasCorrection2Sqrt();
}

Value ParameterUpdate::countedStep() {
  if (!scaler.steps)
    return {};
  Value before = onnx::CastOp::create(builder, loc, scaler.steps, TypeAttr::get(builder.getF32Type()));
  return onnx::AddOp::create(builder, loc, before, scalarLike(builder, loc, before, 1));
}

Value ParameterUpdate::makeState(train::Role role, StringRef suffix, Type type) {
  train::StateOp fresh = makeStateOf(state, role, suffix);
  if (type)
    fresh.setTypeAttr(TypeAttr::get(type));
  stateBytes += bytesOf(fresh.getType());
  Value before = argumentFor(function, BindingKind::State, fresh.getSymName(), fresh.getType());
  made[before] = fresh.getSymName().str();
  return before;
}

Value ParameterUpdate::unlessSkipped(Value before, Value after) {
  return scaler.skipped
             ? onnx::WhereOp::create(builder, after.getLoc(), scaler.skipped, before, after).getResult()
             : after;
}

void ParameterUpdate::keep(Value before, Value after) {
  addResult(function, unlessSkipped(before, after), BindingKind::State, made.lookup(before));
}

void ParameterUpdate::keepAverage(Value value) {
  Value before = makeState(train::Role::Average, "average");
  keep(before,
       train::AverageOp::create(builder, loc, before, value, builder.getF64FloatAttr(settings.averageDecay)));
}

void ParameterUpdate::finish(Value value) {
  value = unlessSkipped(param, value);
  addResult(function, value, BindingKind::State, state.getSymName());
  if (settings.averageDecay > 0)
    keepAverage(value);
  if (!workingCopy)
    return;
  Type element = cast<RankedTensorType>(workingCopy.getType()).getElementType();
  Value rounded = onnx::CastOp::create(builder, value.getLoc(), value, TypeAttr::get(element));
  addResult(function, rounded, BindingKind::State, workingCopy.getSymName());
}

double ParameterUpdate::lrScale() { return state.getLrScale().convertToDouble(); }

SmallVector<NamedAttribute> ParameterUpdate::attributes() {
  return {builder.getNamedAttr("decay", builder.getBoolAttr(state.getDecay())),
          builder.getNamedAttr("lr_scale", builder.getF64FloatAttr(lrScale()))};
}

UpdateRule updateRule(StringRef optimizer) {
  static constexpr std::pair<StringLiteral, UpdateRule> rules[] = {
      {"adamw", updateAdam},          {"adam", updateAdam},       {"sgd", updateSGD},
      {"lion", updateLion},           {"rmsprop", updateRMSprop}, {"adagrad", updateAdagrad},
      {"adafactor", updateAdafactor}, {"muon", updateMuon},       {"adamw8bit", updateAdam8bit},
      {"adam8bit", updateAdam8bit}};
  for (const auto &[name, rule] : rules)
    if (name == optimizer)
      return rule;
  return nullptr;
}

} // namespace kedge::autodiff
