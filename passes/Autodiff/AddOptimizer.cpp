#include "FunctionEditing.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/LogicOps.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"
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

/// A parameter with its gradient, in the function that updates it.
struct Trained {
  train::StateOp state;
  Value gradient;
};

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
    auto micro = train::functionOf(getOperation(), FunctionKind::Micro);
    func::FuncOp function = step ? step : micro;
    if (!function) {
      getOperation().emitError("has neither @step nor @micro");
      return signalPassFailure();
    }
    if (function->hasAttr("train.training_info"))
      return; // the graph updates its variables itself
    SmallVector<Trained> trained = takeGradients(function);
    workingCopies = findWorkingCopies();
    auto nominal = function->getAttrOfType<FloatAttr>("train.nominal_items");
    nominalItems = nominal ? nominal.getValueAsDouble() : 0;
    countsItems = bool(findResult(function, BindingKind::Result, "items"));
    if (micro)
      function = accumulateIn(micro, trained);
    update(function, trained, /*itemsInFunction=*/bool(step));
    eraseUnused(function);
    addStatistic("kedge-add-optimizer", "parameters", trained.size());
    addStatistic("kedge-add-optimizer", "state bytes", stateBytes);
  }

  SmallVector<Trained> takeGradients(func::FuncOp function) {
    SmallVector<Trained> trained;
    for (auto [index, value] : llvm::enumerate(returnOf(function)->getOperands()))
      if (auto gradient = train::bindingOfResult(function, index, BindingKind::Gradient))
        trained.push_back({getOperation().lookupSymbol<train::StateOp>(gradient.getSymbol()), value});
    eraseResults(function, BindingKind::Gradient);
    return trained;
  }

  /// Working copies by the parameter that they are of.
  llvm::DenseMap<StringAttr, train::StateOp> findWorkingCopies() {
    llvm::DenseMap<StringAttr, train::StateOp> found;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == train::Role::WorkingCopy)
        found[state.getOfAttr().getAttr()] = state;
    return found;
  }

  /// A state symbol beside its parameter, of the parameter's type, starting at zero.
  std::string makeState(train::StateOp parameter, train::Role role, StringRef suffix) {
    std::string name = (parameter.getSymName() + "." + suffix).str();
    OpBuilder builder(parameter);
    builder.setInsertionPointAfter(parameter);
    train::StateOp::create(builder, parameter.getLoc(), builder.getStringAttr(name),
                           train::RoleAttr::get(&getContext(), role), parameter.getTypeAttr(), builder.getUnitAttr(),
                           StringAttr(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
                           builder.getBoolAttr(true), builder.getF64FloatAttr(1.0));
    stateBytes += bytesOf(parameter.getType());
    return name;
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

  /// @micro adds to accumulators; the gradients are then @update's arguments.
  func::FuncOp accumulateIn(func::FuncOp micro, MutableArrayRef<Trained> trained) {
    PlacedBuilder builder(returnOf(micro), PlaceAttr());
    Value index = argumentFor(micro, BindingKind::Scalar, "micro", RankedTensorType::get({}, builder.getI64Type()));
    func::FuncOp update = makeUpdate(micro);
    for (Trained &one : trained) {
      std::string name = makeState(one.state, train::Role::Accumulator, "accumulator");
      builder.enter(gradientPlace(one));
      Value accumulator = stateArgument(micro, name, one.state.getType());
      Value sum = train::AccumulateOp::create(builder, one.gradient.getLoc(), accumulator, one.gradient, index);
      returnState(micro, name, sum);
      one.gradient = stateArgument(update, name, one.state.getType());
    }
    return update;
  }

  func::FuncOp makeUpdate(func::FuncOp micro) {
    OpBuilder builder(micro);
    builder.setInsertionPointAfter(micro);
    auto update = func::FuncOp::create(builder, micro.getLoc(), "update", builder.getFunctionType({}, {}));
    train::setKind(update, FunctionKind::Update);
    builder.setInsertionPointToStart(update.addEntryBlock());
    func::ReturnOp::create(builder, micro.getLoc());
    return update;
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
      train::FinalGradientOp::create(builder, one.gradient.getLoc(), one.state.getSymName(), one.gradient);
    scaler = {};
    Value scale = itemScale(function, builder, loc, itemsInFunction);
    if (getOperation().lookupSymbol<train::StateOp>("scaler.loss_scale"))
      scale = unscale(function, builder, loc, trained, scale);
    Value norm = globalNorm(builder, loc, trained, scale);
    addResult(function, norm, BindingKind::Result, "grad_norm");
    if (clipNorm > 0)
      scale = train::ClipScaleOp::create(builder, loc, norm, scale, APFloat(clipNorm.getValue()));
    for (Trained &one : trained)
      updateOne(function, builder, one, scale);
  }

  /// Gradients that are not finite make the step a skipped one; the scale of the next step follows from it. Returns what
  /// the gradients are to be multiplied by.
  Value unscale(func::FuncOp function, PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained, Value scale) {
    auto scalarOf = [](Type element) { return RankedTensorType::get({}, element); };
    auto real = scalarOf(builder.getF32Type()), integer = scalarOf(builder.getI64Type());
    Value lossScale = stateArgument(function, "scaler.loss_scale", real);
    Value found = splat(builder, loc, real, 0.0);
    for (const Trained &one : trained) {
      builder.enter(gradientPlace(one));
      Value flag = anyNotFinite(builder, one.gradient);
      builder.enter(updateOf("optimizer"));
      found = onnx::MaxOp::create(builder, loc, found, flag);
    }
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

  /// 1 when any element is infinite or no number; rows first, as the norm.
  Value anyNotFinite(OpBuilder &builder, Value gradient) {
    Location loc = gradient.getLoc();
    int64_t rank = rankOf(gradient);
    Value flags = train::NotFiniteOp::create(builder, loc, gradient);
    if (rank == 0)
      return flags;
    Value rows = onnx::ReduceMaxOp::create(builder, loc, flags, ArrayRef<int64_t>{rank - 1}, false);
    auto rest = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
    return rest.empty() ? rows : onnx::ReduceMaxOp::create(builder, loc, rows, rest, false).getResult();
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
      return train::ItemScaleOp::create(builder, loc, items, APFloat(nominalItems));
    return scalar(function, "item_scale");
  }

  /// Root of the sum of squares: rows first, then each tensor, then tensors in the order of the module.
  Value globalNorm(PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained, Value scale) {
    Value total;
    for (const Trained &one : trained) {
      builder.enter(gradientPlace(one));
      Value squares = sumOfSquares(builder, one.gradient);
      builder.enter(updateOf("optimizer"));
      total = total ? onnx::AddOp::create(builder, loc, total, squares).getResult() : squares;
    }
    if (!total)
      return splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 0.0);
    return onnx::MulOp::create(builder, loc, onnx::SqrtOp::create(builder, loc, total), scale);
  }

  Value sumOfSquares(OpBuilder &builder, Value gradient) {
    Location loc = gradient.getLoc();
    int64_t rank = rankOf(gradient);
    if (elementOf(gradient) != builder.getF32Type())
      gradient = onnx::CastOp::create(builder, loc, gradient, TypeAttr::get(builder.getF32Type()));
    if (rank == 0)
      return onnx::MulOp::create(builder, loc, gradient, gradient);
    Value rows = onnx::ReduceSumSquareOp::create(builder, loc, gradient, ArrayRef<int64_t>{rank - 1}, false);
    auto rest = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
    return rest.empty() ? rows : onnx::ReduceSumOp::create(builder, loc, rows, rest, false).getResult();
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
