#include "passes/Autodiff/ParameterUpdate.h"
#include "lib/Dialect/ONNX/GradientUtils.h"
#include "lib/Dialect/ONNX/Math/LogicOps.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/Optimizer/OptimizerOps.h"
#include "lib/Support/StorageBytes.h"
#include "passes/Autodiff/Optimizers.h"

using namespace mlir;

namespace kedge::autodiff {
using train::BindingKind;

ParameterUpdate::ParameterUpdate(BoundFunction &function, PlacedBuilder &builder, Trained &one, Value scale,
                                 train::StateOp workingCopy, Scaler &scaler, const UpdateSettings &settings)
    : function(function), builder(builder), loc(one.state.getLoc()), state(one.state),
      param(function.argument(BindingKind::State, one.state.getSymName(), one.state.getType())),
      gradient(one.gradient), scale(scale), settings(settings), workingCopy(workingCopy), scaler(scaler) {}

Value ParameterUpdate::scalar(StringRef name) const {
  return function.argument(BindingKind::Scalar, name, RankedTensorType::get({}, builder.getF32Type()));
}

Value ParameterUpdate::counter(StringRef name) const {
  return function.argument(BindingKind::Scalar, name, RankedTensorType::get({}, builder.getI64Type()));
}

Value ParameterUpdate::adamCorrection(StringRef which) {
  if (!scaler.steps)
    return scalar(which);
  if (!scaler.corrections) {
    auto exact = [&](StringRef name) {
      return function.argument(BindingKind::Scalar, name, RankedTensorType::get({}, builder.getF64Type()));
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
  Value before = function.argument(BindingKind::State, fresh.getSymName(), fresh.getType());
  made[before] = fresh.getSymName().str();
  return before;
}

Value ParameterUpdate::unlessSkipped(Value before, Value after) {
  return scaler.skipped
             ? onnx::WhereOp::create(builder, after.getLoc(), scaler.skipped, before, after).getResult()
             : after;
}

void ParameterUpdate::keep(Value before, Value after) {
  function.addResult(unlessSkipped(before, after), BindingKind::State, made.lookup(before));
}

void ParameterUpdate::keepAverage(Value value) {
  Value before = makeState(train::Role::Average, "average");
  keep(before,
       train::AverageOp::create(builder, loc, before, value, builder.getF64FloatAttr(settings.averageDecay)));
}

void ParameterUpdate::finish(Value value) {
  value = unlessSkipped(param, value);
  function.addResult(value, BindingKind::State, state.getSymName());
  if (settings.averageDecay > 0)
    keepAverage(value);
  if (!workingCopy)
    return;
  Type element = cast<RankedTensorType>(workingCopy.getType()).getElementType();
  Value rounded = onnx::CastOp::create(builder, value.getLoc(), value, TypeAttr::get(element));
  function.addResult(rounded, BindingKind::State, workingCopy.getSymName());
}

double ParameterUpdate::lrScale() { return state.getLrScale().convertToDouble(); }

SmallVector<NamedAttribute> ParameterUpdate::attributes() {
  return {builder.getNamedAttr("decay", builder.getBoolAttr(state.getDecay())),
          builder.getNamedAttr("lr_scale", builder.getF64FloatAttr(lrScale()))};
}

namespace {
struct Optimizer {
  StringLiteral name;
  UpdateRule rule;
  OptimizerDefaults defaults;
};

constexpr Optimizer kOptimizers[] = {{"adamw", updateAdam, {.weightDecay = 0.01}},
                                     {"adam", updateAdam, {}},
                                     {"sgd", updateSGD, {}},
                                     {"lion", updateLion, {.beta2 = 0.99}},
                                     {"adafactor", updateAdafactor, {.eps = 1e-3}},
                                     {"muon", updateMuon, {.weightDecay = 0.1, .momentum = 0.95}},
                                     {"rmsprop", updateRMSprop, {.beta2 = 0.99}},
                                     {"adagrad", updateAdagrad, {.eps = 1e-10}},
                                     {"adamw8bit", updateAdam8bit, {.weightDecay = 0.01}},
                                     {"adam8bit", updateAdam8bit, {}}};

const Optimizer *find(StringRef name) {
  const Optimizer *found = llvm::find_if(kOptimizers, [&](const Optimizer &one) { return one.name == name; });
  return found == std::end(kOptimizers) ? nullptr : found;
}
} // namespace

std::vector<std::string> optimizerNames() {
  std::vector<std::string> names;
  for (const Optimizer &one : kOptimizers)
    names.push_back(one.name.str());
  return names;
}

const OptimizerDefaults &defaultsOf(StringRef optimizer) {
  const Optimizer *found = find(optimizer);
  assert(found && "expected one of optimizerNames()");
  return found->defaults;
}

UpdateRule updateRule(StringRef optimizer) {
  const Optimizer *found = find(optimizer);
  return found ? found->rule : nullptr;
}

} // namespace kedge::autodiff
