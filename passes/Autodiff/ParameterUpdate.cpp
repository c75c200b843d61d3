#include "passes/Autodiff/ParameterUpdate.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/StorageBytes.h"
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
  Value given = function.argument(BindingKind::Scalar, name, RankedTensorType::get({}, builder.getF32Type()));
  const double scale = name == "lr_decay" || name == "weight_decay" ? tune::decayScaleOf(state) : 1;
  return scale == 1 ? given
                    : onnx::MulOp::create(builder, loc, given, scalarLike(builder, loc, given, scale));
}

Value ParameterUpdate::exactScalar(StringRef name) const {
  return function.argument(BindingKind::Scalar, name, RankedTensorType::get({}, builder.getF64Type()));
}

Value ParameterUpdate::counter(StringRef name) const {
  return function.argument(BindingKind::Scalar, name, RankedTensorType::get({}, builder.getI64Type()));
}

Value ParameterUpdate::adamCorrection(StringRef which) {
  if (!scaler.steps)
    return scalar(which);
  if (!scaler.corrections) {
    scaler.corrections =
        train::AdamCorrectionsOp::create(builder, loc, scaler.steps, exactScalar("exact_lr"),
                                         exactScalar("exact_beta1"), exactScalar("exact_beta2"));
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

Value ParameterUpdate::makeRunState(StringRef name, double first) {
  OpBuilder beside(state);
  auto type = RankedTensorType::get({}, builder.getF64Type());
  train::StateOp::create(
      beside, loc, beside.getStringAttr(name), train::RoleAttr::get(beside.getContext(), train::Role::State),
      TypeAttr::get(type), first == 0 ? Attribute(beside.getUnitAttr()) : beside.getF64FloatAttr(first),
      StringAttr(), FlatSymbolRefAttr(), beside.getBoolAttr(true), beside.getF64FloatAttr(1.0));
  stateBytes += bytesOf(type);
  Value before = function.argument(BindingKind::State, name, type);
  made[before] = name.str();
  return before;
}

Value ParameterUpdate::shared(StringRef name, function_ref<Value()> make) {
  if (!scaler.shared.contains(name)) {
    Value value = make(); // which may share others
    scaler.shared[name] = value;
  }
  return scaler.shared[name];
}

void ParameterUpdate::enter() {
  builder.enter(PlaceAttr::get(builder.getContext(), TrainingPhase::Update, "",
                               state.getOnnxName().value_or(state.getSymName())));
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
struct OptimizerRow {
  Optimizer optimizer;
  UpdateRule rule;
  OptimizerFacts facts;
  JointRule joint = nullptr;
};

constexpr OptimizerRow kOptimizers[] = {
    {Optimizer::AdamW,
     updateAdam,
     {.defaults = {.weightDecay = 0.01},
      .hasMoments = true,
      .hasCaution = true,
      .in8bits = Optimizer::AdamW8bit,
      .has4bits = true}},
    {Optimizer::Adam,
     updateAdam,
     {.defaults = {}, .hasMoments = true, .in8bits = Optimizer::Adam8bit, .has4bits = true}},
    {Optimizer::Sgd, updateSGD, {.defaults = {}, .hasMomentum = true}},
    {Optimizer::Lion, updateLion, {.defaults = {.beta2 = 0.99}, .hasMoments = true}},
    {Optimizer::Adafactor, updateAdafactor, {.defaults = {.eps = 1e-3}}},
    {Optimizer::Muon,
     updateMuon,
     {.defaults = {.weightDecay = 0.1, .momentum = 0.95}, .hasMomentum = true, .hasMatrices = true}},
    {Optimizer::RmsProp, updateRMSprop, {.defaults = {.beta2 = 0.99}, .hasMomentum = true}},
    {Optimizer::Adagrad, updateAdagrad, {.defaults = {.eps = 1e-10}}},
    {Optimizer::AdamW8bit, updateAdam8bit, {.defaults = {.weightDecay = 0.01}}},
    {Optimizer::Adam8bit, updateAdam8bit, {}},
    {Optimizer::Adopt, updateAdopt, {.defaults = {.beta2 = 0.9999, .eps = 1e-6}}},
    {Optimizer::ScheduleFreeAdamW, updateScheduleFree, {.defaults = {.lr = 2.5e-3}}},
    {Optimizer::NorMuon,
     updateNorMuon,
     {.defaults = {.beta2 = 0.95, .eps = 1e-10, .momentum = 0.95},
      .hasMomentum = true,
      .hasMatrices = true,
      .hasNeurons = true}},
    {Optimizer::Soap,
     updateSoap,
     {.defaults = {.beta1 = 0.95, .beta2 = 0.95, .weightDecay = 0.01, .lr = 3e-3},
      .hasMatrices = true,
      .hasBases = true,
      .hasEigenvectors = true}},
    {Optimizer::Galore,
     updateGalore,
     {.defaults = {.eps = 1e-6},
      .hasMatrices = true,
      .hasNeurons = true,
      .hasEigenvectors = true,
      .projection = {.rank = 128, .scale = 0.25}}},
    {Optimizer::Apollo,
     updateApollo,
     {.defaults = {.eps = 1e-6}, .hasMatrices = true, .hasNeurons = true, .projection = {.rank = 256}}},
    {Optimizer::Prodigy, nullptr, {.defaults = {.lr = 1}}, updateProdigy}};

const OptimizerRow &rowOf(Optimizer optimizer) {
  const OptimizerRow *found =
      llvm::find_if(kOptimizers, [&](const OptimizerRow &row) { return row.optimizer == optimizer; });
  assert(found != std::end(kOptimizers) && "each optimizer has a row");
  return *found;
}
} // namespace

const OptimizerFacts &factsOf(Optimizer optimizer) { return rowOf(optimizer).facts; }

UpdateRule updateRule(Optimizer optimizer) { return rowOf(optimizer).rule; }
JointRule jointRule(Optimizer optimizer) { return rowOf(optimizer).joint; }

} // namespace kedge::autodiff
