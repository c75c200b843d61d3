#include "FunctionEditing.h"
#include "GradientFolds.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/LogicOps.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/LossScaleOps.h"
#include "kedge/Dialect/Train/OptimizerOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/Statistics.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

/// What loss scaling brings into the function of the update; null values without it.
struct Scaler {
  Value skipped; ///< i1: a gradient of the step is not finite
  Value steps;   ///< updates done before
  train::AdamCorrectionsOp corrections;
};

struct AddOptimizer : impl::AddOptimizerBase<AddOptimizer> {
  using Base::Base;
  int64_t stateBytes = 0;
  double nominalItems = 0; // of a step
  llvm::DenseMap<StringAttr, train::StateOp> workingCopies;
  Scaler scaler;
  bool countsItems = false; // the loss divides by items that are counted as the program runs

  void runOnOperation() override {
    if (optimizer != "adamw" && optimizer != "adam" && optimizer != "sgd") {
      getOperation().emitError() << "unknown optimizer '" << optimizer.getValue() << "': expected adamw, adam or sgd";
      return signalPassFailure();
    }
    auto step = train::functionOf(getOperation(), FunctionKind::Step);
    func::FuncOp backward = step ? step : train::functionOf(getOperation(), FunctionKind::Micro);
    if (backward && backward->hasAttr("train.training_info"))
      return; // the graph updates its variables itself
    func::FuncOp function = step ? step : train::functionOf(getOperation(), FunctionKind::Update);
    if (!backward || !function) {
      getOperation().emitError("has neither @step nor @micro with @update, which kedge-accumulate-gradients makes");
      return signalPassFailure();
    }
    SmallVector<Trained> trained = takeGradients(function);
    workingCopies = findWorkingCopies();
    auto nominal = backward->getAttrOfType<FloatAttr>("train.nominal_items");
    nominalItems = nominal ? nominal.getValueAsDouble() : 0;
    countsItems = bool(findResult(backward, BindingKind::Result, "items"));
    update(function, trained, /*itemsInFunction=*/bool(step));
    eraseUnused(function);
    addStatistic("kedge-add-optimizer", "parameters", trained.size());
    addStatistic("kedge-add-optimizer", "state bytes", stateBytes);
  }

  /// Working copies by the parameter that they are of.
  llvm::DenseMap<StringAttr, train::StateOp> findWorkingCopies() {
    llvm::DenseMap<StringAttr, train::StateOp> found;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == train::Role::WorkingCopy)
        found[state.getOfAttr().getAttr()] = state;
    return found;
  }

  std::string makeState(train::StateOp parameter, train::Role role, StringRef suffix) {
    train::StateOp made = makeStateOf(parameter, role, suffix);
    stateBytes += bytesOf(made.getType());
    return made.getSymName().str();
  }

  /// The parameter's new value, rounded into its working copy, too.
  void returnParameter(func::FuncOp function, OpBuilder &builder, train::StateOp parameter, Value value) {
    returnState(function, parameter.getSymName(), value);
    train::StateOp working = workingCopies.lookup(parameter.getSymNameAttr());
    if (!working)
      return;
    Type element = cast<RankedTensorType>(working.getType()).getElementType();
    Value rounded = onnx::CastOp::create(builder, value.getLoc(), value, TypeAttr::get(element));
    returnState(function, working.getSymName(), rounded);
  }

  static Value stateArgument(func::FuncOp function, StringRef name, Type type) {
    return argumentFor(function, BindingKind::State, name, type);
  }

  void returnState(func::FuncOp function, StringRef name, Value value) {
    addResult(function, value, BindingKind::State, name);
  }

  PlaceAttr updateOf(StringRef node) { return PlaceAttr::get(&getContext(), TrainingPhase::Update, "", node); }

  /// Where the gradient is computed; in @update it comes from an accumulator.
  PlaceAttr gradientPlace(Trained one) {
    PlaceAttr place = placeOfMaker(one.gradient);
    return place ? place : updateOf(one.state.getOnnxName().value_or(one.state.getSymName()));
  }

  Value scalar(func::FuncOp function, StringRef name) {
    return argumentFor(function, BindingKind::Scalar, name, RankedTensorType::get({}, Float32Type::get(&getContext())));
  }

  void update(func::FuncOp function, MutableArrayRef<Trained> trained, bool itemsInFunction) {
    PlacedBuilder builder(returnOf(function), updateOf("optimizer"));
    Location loc = NameLoc::get(builder.getStringAttr("optimizer"));
    for (Trained &one : trained)
      train::FinalGradientOp::create(builder, one.gradient.getLoc(), one.state.getSymName(), ownPart(builder, one.gradient));
    scaler = {};
    Value scale = itemScale(function, builder, loc, itemsInFunction);
    if (getOperation().lookupSymbol<train::StateOp>("scaler.loss_scale"))
      scale = unscale(function, builder, loc, trained, scale);
    Value norm = globalNorm(builder, loc, trained, scale);
    addResult(function, norm, BindingKind::Result, "grad_norm");
    if (clipNorm > 0 || waitsForNorm(itemsInFunction))
      scale = train::ClipScaleOp::create(builder, loc, norm, scale, clipNorm > 0 ? APFloat(clipNorm.getValue()) : APFloat::getInf(APFloat::IEEEdouble()));
    for (Trained &one : trained)
      updateOne(function, builder, one, scale);
  }

  /// Where all gradients are held anyway, none is applied before the norm says that all of them are finite. Clipping to an
  /// infinite norm changes no scale. Dynamic loss scaling has its own way of skipping a step.
  bool waitsForNorm(bool gradientsInFunction) const { return !gradientsInFunction && !scaler.skipped; }

  /// Gradients that are not finite make the step a skipped one; the scale of the next step follows from it. Returns what
  /// the gradients are to be multiplied by.
  Value unscale(func::FuncOp function, PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained, Value scale) {
    auto scalarOf = [](Type element) { return RankedTensorType::get({}, element); };
    auto real = scalarOf(builder.getF32Type()), integer = scalarOf(builder.getI64Type());
    Value lossScale = stateArgument(function, "scaler.loss_scale", real);
    Value found = splat(builder, loc, real, 0.0);
    for (const Trained &one : trained) {
      builder.enter(gradientPlace(one));
      Value flag = anyNotFinite(builder, ownPart(builder, one.gradient));
      builder.enter(updateOf("optimizer"));
      found = onnx::MaxOp::create(builder, loc, found, flag);
    }
    found = overRanks(builder, found, "max");
    scaler.skipped = onnx::GreaterOp::create(builder, loc, found, splat(builder, loc, real, 0.0));
    auto next = train::UpdateScaleOp::create(
        builder, loc, lossScale, stateArgument(function, "scaler.growth_counter", integer),
        stateArgument(function, "scaler.hysteresis", integer), found, APFloat(scaleGrowth.getValue()),
        APFloat(scaleBackoff.getValue()), scaleWindow, scaleHysteresis, APFloat(scaleMinimum.getValue()));
    scaler.steps = stateArgument(function, "scaler.optimizer_steps", integer);
    returnState(function, "scaler.loss_scale", next.getNewScale());
    returnState(function, "scaler.growth_counter", next.getNewCounter());
    returnState(function, "scaler.hysteresis", next.getNewLeft());
    returnState(function, "scaler.optimizer_steps", train::CountStepOp::create(builder, loc, scaler.steps, found));
    return onnx::MulOp::create(builder, loc, train::InverseScaleOp::create(builder, loc, lossScale), scale);
  }

  /// The old value in a skipped step.
  Value unlessSkipped(OpBuilder &builder, Value before, Value after) {
    return scaler.skipped ? onnx::WhereOp::create(builder, after.getLoc(), scaler.skipped, before, after).getResult() : after;
  }

  /// Adam's step size and second correction: the host knows the step's number unless steps may be skipped.
  Value adamCorrection(func::FuncOp function, OpBuilder &builder, Location loc, StringRef which) {
    if (!scaler.steps)
      return scalar(function, which);
    if (!scaler.corrections) {
      auto exact = [&](StringRef name) {
        return argumentFor(function, BindingKind::Scalar, name, RankedTensorType::get({}, builder.getF64Type()));
      };
      scaler.corrections = train::AdamCorrectionsOp::create(builder, loc, scaler.steps, exact("exact_lr"),
                                                            exact("exact_beta1"), exact("exact_beta2"));
    }
    return which == "step_size" ? scaler.corrections.getStepSize() : scaler.corrections.getBiasCorrection2Sqrt();
  }

  /// nominal / actual items of the step.
  Value itemScale(func::FuncOp function, OpBuilder &builder, Location loc, bool itemsInFunction) {
    Value items = findResult(function, BindingKind::Result, "items");
    if (!countsItems)
      return splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 1.0);
    if (itemsInFunction)
      return train::ItemScaleOp::create(builder, loc, overRanks(builder, items, "sum"), APFloat(nominalItems));
    return scalar(function, "item_scale");
  }

  /// Root of the sum of squares: each tensor, then tensors in the order of the module, then ranks.
  Value globalNorm(PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained, Value scale) {
    Value total;
    for (const Trained &one : trained) {
      builder.enter(gradientPlace(one));
      Value squares = sumOfSquares(builder, ownPart(builder, one.gradient));
      builder.enter(updateOf("optimizer"));
      total = total ? onnx::AddOp::create(builder, loc, total, squares).getResult() : squares;
    }
    if (!total)
      return splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 0.0);
    total = overRanks(builder, total, "sum");
    return onnx::MulOp::create(builder, loc, onnx::SqrtOp::create(builder, loc, total), scale);
  }

  /// What this rank looks at of a gradient that is alike on all of them.
  Value ownPart(OpBuilder &builder, Value gradient) {
    return ranks > 1 ? dist::OwnPartOp::create(builder, gradient.getLoc(), gradient, ranks).getResult(0) : gradient;
  }

  Value overRanks(OpBuilder &builder, Value scalar, StringRef kind) {
    return ranks > 1 ? dist::AllReduceOp::create(builder, scalar.getLoc(), scalar, ranks, kind).getResult(0) : scalar;
  }

  void updateOne(func::FuncOp function, PlacedBuilder &builder, Trained &one, Value scale) {
    builder.enter(updateOf(one.state.getOnnxName().value_or(one.state.getSymName())));
    Location loc = one.state.getLoc();
    Value param = stateArgument(function, one.state.getSymName(), one.state.getType());
    if (optimizer == "sgd")
      return updateSGD(function, builder, loc, one, param, scale);
    std::string first = makeState(one.state, train::Role::Moment1, "moment1");
    std::string second = makeState(one.state, train::Role::Moment2, "moment2");
    Value moment1 = stateArgument(function, first, param.getType());
    Value moment2 = stateArgument(function, second, param.getType());
    Value decay = scalar(function, optimizer == "adamw" ? "lr_decay" : "weight_decay");
    SmallVector<Value> operands = {param, moment1, moment2, one.gradient, scale, decay};
    operands.push_back(adamCorrection(function, builder, loc, "step_size"));
    for (StringRef name : {"one_minus_beta1", "beta2", "one_minus_beta2"})
      operands.push_back(scalar(function, name));
    operands.push_back(adamCorrection(function, builder, loc, "bias_correction2_sqrt"));
    operands.push_back(scalar(function, "eps"));
    SmallVector<NamedAttribute> attributes = settings(builder, one.state);
    Operation *op = optimizer == "adamw" ? train::AdamWOp::create(builder, loc, operands, attributes).getOperation()
                                         : train::AdamOp::create(builder, loc, operands, attributes).getOperation();
    returnParameter(function, builder, one.state, unlessSkipped(builder, param, op->getResult(0)));
    returnState(function, first, unlessSkipped(builder, moment1, op->getResult(1)));
    returnState(function, second, unlessSkipped(builder, moment2, op->getResult(2)));
  }

  SmallVector<NamedAttribute> settings(OpBuilder &builder, train::StateOp state) {
    return {builder.getNamedAttr("decay", builder.getBoolAttr(state.getDecay())),
            builder.getNamedAttr("lr_scale", builder.getF64FloatAttr(state.getLrScale().convertToDouble()))};
  }

  void updateSGD(func::FuncOp function, OpBuilder &builder, Location loc, Trained &one, Value param, Value scale) {
    Value decay = scalar(function, "weight_decay"), rate = scalar(function, "lr");
    SmallVector<NamedAttribute> attributes = settings(builder, one.state);
    if (momentum == 0) {
      auto sgd = train::SGDOp::create(builder, loc, ValueRange{param, one.gradient, scale, decay, rate}, attributes);
      return returnParameter(function, builder, one.state, unlessSkipped(builder, param, sgd.getNewParam()));
    }
    std::string buffer = makeState(one.state, train::Role::Momentum, "momentum");
    attributes.push_back(builder.getNamedAttr("nesterov", builder.getBoolAttr(nesterov)));
    Value before = stateArgument(function, buffer, param.getType());
    SmallVector<Value> operands = {param, before, one.gradient, scale, decay, rate, scalar(function, "momentum")};
    auto sgd = train::MomentumOp::create(builder, loc, operands, attributes);
    returnParameter(function, builder, one.state, unlessSkipped(builder, param, sgd.getNewParam()));
    returnState(function, buffer, unlessSkipped(builder, before, sgd.getNewBuffer()));
  }
};
} // namespace
} // namespace kedge::autodiff
