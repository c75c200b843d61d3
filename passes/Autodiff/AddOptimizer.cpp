#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ContextAxis.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "passes/Autodiff/GradientReductions.h"
#include "passes/Autodiff/Optimizers.h"
#include "passes/Autodiff/ParameterUpdate.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/SquaresOfParts.h"
#include "llvm/ADT/StringExtras.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;
using train::BindingKind;
using train::FunctionKind;

struct AddOptimizer : impl::AddOptimizerBase<AddOptimizer> {
  using Base::Base;
  UpdateRule rule = nullptr;
  UpdateSettings settings;
  int64_t stateBytes = 0;
  double nominalItems = 0; // of a step
  llvm::DenseMap<StringAttr, train::StateOp> workingCopies;
  Scaler scaler;
  bool countsItems = false; // the loss divides by items that are counted as the program runs

  void run() override {
    rule = updateRule(optimizer);
    settings = {
        optimizer,          momentum,    nesterov,    moments, averageDecay, caution, preconditionFrequency,
        maxPreconditionDim, shampooBeta, projection()};
    auto step = train::functionOf(getOperation(), FunctionKind::Step);
    func::FuncOp backward = step ? step : train::functionOf(getOperation(), FunctionKind::Micro);
    if (backward && train::isOfTrainingInfo(backward))
      return; // the graph updates its variables itself
    func::FuncOp function = step ? step : train::functionOf(getOperation(), FunctionKind::Update);
    if (!backward || !function) {
      getOperation().emitError(
          "has neither @step nor @micro with @update, which kedge-accumulate-gradients makes");
      return signalPassFailure();
    }
    SmallVector<Trained> trained = takeGradients(function);
    workingCopies = findWorkingCopies();
    auto nominal = train::NominalItemsNote(backward->getContext()).getAttr(backward);
    nominalItems = nominal ? nominal.getValueAsDouble() : 0;
    countsItems = bool(findResult(backward, BindingKind::Result, "items"));
    update(function, trained, /*itemsInFunction=*/bool(step));
    eraseUnused(function);
    addStatistic("parameters", trained.size());
    addStatistic("state bytes", stateBytes);
  }

  Projection projection() {
    const ProjectionDefaults &defaults = factsOf(optimizer).projection;
    return {projRank > 0 ? static_cast<int64_t>(projRank) : defaults.rank, updateProjGap,
            projScale >= 0 ? static_cast<double>(projScale) : defaults.scale, scaleType};
  }

  /// Working copies by the parameter that they are of.
  llvm::DenseMap<StringAttr, train::StateOp> findWorkingCopies() {
    llvm::DenseMap<StringAttr, train::StateOp> found;
    for (auto state : getOperation().getOps<train::StateOp>())
      if (state.getRole() == train::Role::WorkingCopy)
        found[state.getOfAttr().getAttr()] = state;
    return found;
  }

  static Value stateArgument(BoundFunction &function, StringRef name, Type type) {
    return function.argument(BindingKind::State, name, type);
  }

  void returnState(BoundFunction &function, StringRef name, Value value) {
    function.addResult(value, BindingKind::State, name);
  }

  PlaceAttr updateOf(StringRef node) {
    return PlaceAttr::get(&getContext(), TrainingPhase::Update, "", node);
  }

  /// Where the gradient is computed; in @update it comes from an accumulator.
  PlaceAttr gradientPlace(Trained one) {
    PlaceAttr place = placeOfProducer(one.gradient);
    return place ? place : updateOf(one.state.getOnnxName().value_or(one.state.getSymName()));
  }

  Value scalar(BoundFunction &function, StringRef name) {
    return function.argument(BindingKind::Scalar, name,
                             RankedTensorType::get({}, Float32Type::get(&getContext())));
  }

  void update(func::FuncOp updated, MutableArrayRef<Trained> trained, bool itemsInFunction) {
    BoundFunction function(updated);
    PlacedBuilder builder(returnOf(function.function), updateOf("optimizer"));
    Location loc = NameLoc::get(builder.getStringAttr("optimizer"));
    for (Trained &one : trained)
      train::FinalGradientOp::create(builder, one.gradient.getLoc(), one.state.getSymName(),
                                     localShard(builder, one));
    scaler = {};
    Value scale = itemScale(function, builder, loc, itemsInFunction);
    if (getOperation().lookupSymbol<train::StateOp>("scaler.loss_scale"))
      scale = unscale(function, builder, loc, trained, scale);
    Value norm = globalNorm(builder, loc, trained, scale);
    function.addResult(norm, BindingKind::Result, "grad_norm");
    if (clipNorm > 0 || waitsForNorm(itemsInFunction))
      scale = train::ClipScaleOp::create(builder, loc, norm, scale,
                                         clipNorm > 0 ? APFloat(clipNorm.getValue())
                                                      : APFloat::getInf(APFloat::IEEEdouble()));
    if (JointRule joint = jointRule(optimizer))
      return updateAll(function, builder, trained, scale, joint);
    for (Trained &one : trained)
      updateOne(function, builder, one, scale);
  }

  /// Where all gradients are held anyway, none is applied before the norm says that all of them are finite.
  /// Clipping to an infinite norm changes no scale. Dynamic loss scaling has its own way of skipping a step.
  bool waitsForNorm(bool gradientsInFunction) const { return !gradientsInFunction && !scaler.skipped; }

  /// Gradients that are not finite make the step a skipped one; the scale of the next step follows from it.
  /// Returns what the gradients are to be multiplied by.
  Value unscale(BoundFunction &function, PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained,
                Value scale) {
    auto scalarOf = [](Type element) { return RankedTensorType::get({}, element); };
    auto real = scalarOf(builder.getF32Type()), integer = scalarOf(builder.getI64Type());
    Value lossScale = stateArgument(function, "scaler.loss_scale", real);
    Value found = overRanks(builder, reductionOfAll<AnyNotFinite>(builder, loc, trained),
                            dist::gradientGroup(getOperation()), dist::ReduceKind::Max);
    scaler.skipped = onnx::GreaterOp::create(builder, loc, found, splat(builder, loc, real, 0.0));
    auto next = train::UpdateScaleOp::create(
        builder, loc, lossScale, stateArgument(function, "scaler.growth_counter", integer),
        stateArgument(function, "scaler.hysteresis", integer), found, APFloat(scaleGrowth.getValue()),
        APFloat(scaleBackoff.getValue()), scaleWindow, scaleHysteresis, APFloat(scaleMinimum.getValue()));
    scaler.steps = stateArgument(function, "scaler.optimizer_steps", integer);
    returnState(function, "scaler.loss_scale", next.getNewScale());
    returnState(function, "scaler.growth_counter", next.getNewCounter());
    returnState(function, "scaler.hysteresis", next.getNewLeft());
    returnState(function, "scaler.optimizer_steps",
                train::CountStepOp::create(builder, loc, scaler.steps, found));
    return onnx::MulOp::create(builder, loc, train::InverseScaleOp::create(builder, loc, lossScale), scale);
  }

  /// nominal / actual items of the step.
  Value itemScale(BoundFunction &function, OpBuilder &builder, Location loc, bool itemsInFunction) {
    Value items = findResult(function.function, BindingKind::Result, "items");
    if (!countsItems)
      return splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 1.0);
    if (itemsInFunction)
      return train::ItemScaleOp::create(
          builder, loc, overRanks(builder, items, dist::rowGroup(getOperation()), dist::ReduceKind::Sum),
          APFloat(nominalItems));
    return scalar(function, "item_scale");
  }

  /// Root of the sum of squares: rows of each tensor, then tensors in the order of the module, then the ranks
  /// with other parts.
  Value globalNorm(PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained, Value scale) {
    Value total = dist::partsOf(getOperation())
                      ? squaresOfParts(builder, loc, trained)
                      : overRanks(builder, reductionOfAll<SumOfSquares>(builder, loc, trained),
                                  dist::dataGroup(getOperation()), dist::ReduceKind::Sum);
    if (signedItems) // a negative norm would turn what it clips round
      scale = onnx::AbsOp::create(builder, loc, scale);
    return onnx::MulOp::create(builder, loc, onnx::SqrtOp::create(builder, loc, total), scale);
  }

  /// What each gradient leaves is made beside it, the rest with the optimizer's scalars. Without gradients it
  /// is zero.
  template <typename Reduction>
  Value reductionOfAll(PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained) {
    Reduction reduction;
    for (const Trained &one : trained) {
      builder.enter(gradientPlace(one));
      reduction.add(builder, localShard(builder, one));
    }
    builder.enter(updateOf("optimizer"));
    Value all = reduction.join(builder, loc);
    return all ? all : splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 0.0);
  }

  Value squaresOfParts(PlacedBuilder &builder, Location loc, ArrayRef<Trained> trained) {
    SquaresOfParts squares(dist::partsOf(getOperation()), dist::dataGroup(getOperation()));
    for (const Trained &one : trained) {
      builder.enter(gradientPlace(one));
      squares.add(builder, one.gradient);
    }
    builder.enter(updateOf("optimizer"));
    Value all = squares.join(builder, loc);
    return all ? all : splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 0.0);
  }

  /// What this rank looks at of a gradient that is alike on all ranks of its group.
  Value localShard(OpBuilder &builder, Trained one) {
    const dist::RankGroup group = dist::partGroup(getOperation(), one.state.getShardingAttr());
    return group.isAlone()
               ? one.gradient
               : dist::LocalShardOp::create(builder, one.gradient.getLoc(), one.gradient, group).getResult(0);
  }

  static Value overRanks(OpBuilder &builder, Value scalar, dist::RankGroup group, dist::ReduceKind kind) {
    return group.isAlone()
               ? scalar
               : dist::AllReduceOp::create(builder, scalar.getLoc(), scalar, group, kind).getResult(0);
  }

  ParameterUpdate makeUpdate(BoundFunction &function, PlacedBuilder &builder, Trained &one, Value scale) {
    return {function, builder, one, scale, workingCopies.lookup(one.state.getSymNameAttr()),
            scaler,   settings};
  }

  void updateAll(BoundFunction &function, PlacedBuilder &builder, MutableArrayRef<Trained> trained,
                 Value scale, JointRule joint) {
    SmallVector<ParameterUpdate, 0> updates;
    for (Trained &one : trained)
      updates.push_back(makeUpdate(function, builder, one, scale));
    joint(updates);
    for (const ParameterUpdate &update : updates)
      stateBytes += update.stateBytes;
  }

  void updateOne(BoundFunction &function, PlacedBuilder &builder, Trained &one, Value scale) {
    ParameterUpdate update = makeUpdate(function, builder, one, scale);
    update.enter();
    rule(update);
    stateBytes += update.stateBytes;
  }
};
} // namespace
} // namespace kedge::autodiff
