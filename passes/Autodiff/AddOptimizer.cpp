#include "FunctionEditing.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
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

struct AddOptimizer : impl::AddOptimizerBase<AddOptimizer> {
  using Base::Base;
  int64_t stateBytes = 0;
  double nominalItems = 0; // of a step
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

  static Value stateArgument(func::FuncOp function, StringRef name, Type type) {
    return argumentFor(function, BindingKind::State, name, type);
  }

  void returnState(func::FuncOp function, StringRef name, Value value) {
    addResult(function, value, BindingKind::State, name);
  }

  /// @micro adds to accumulators; the gradients are then @update's arguments.
  func::FuncOp accumulateIn(func::FuncOp micro, MutableArrayRef<Trained> trained) {
    OpBuilder builder(returnOf(micro));
    Value index = argumentFor(micro, BindingKind::Scalar, "micro", RankedTensorType::get({}, builder.getI64Type()));
    func::FuncOp update = makeUpdate(micro);
    for (Trained &one : trained) {
      std::string name = makeState(one.state, train::Role::Accumulator, "accumulator");
      Value accumulator = stateArgument(micro, name, one.gradient.getType());
      Value sum = train::AccumulateOp::create(builder, one.gradient.getLoc(), accumulator, one.gradient, index);
      returnState(micro, name, sum);
      one.gradient = stateArgument(update, name, one.gradient.getType());
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

  Value scalar(func::FuncOp function, StringRef name) {
    return argumentFor(function, BindingKind::Scalar, name, RankedTensorType::get({}, Float32Type::get(&getContext())));
  }

  void update(func::FuncOp function, MutableArrayRef<Trained> trained, bool itemsInFunction) {
    OpBuilder builder(returnOf(function));
    Location loc = NameLoc::get(builder.getStringAttr("optimizer"));
    for (Trained &one : trained)
      train::FinalGradientOp::create(builder, one.gradient.getLoc(), one.state.getSymName(), one.gradient);
    Value scale = itemScale(function, builder, loc, itemsInFunction);
    Value norm = globalNorm(builder, loc, trained, scale);
    addResult(function, norm, BindingKind::Result, "grad_norm");
    if (clipNorm > 0)
      scale = train::ClipScaleOp::create(builder, loc, norm, scale, APFloat(clipNorm.getValue()));
    for (Trained &one : trained)
      updateOne(function, builder, one, scale);
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
  Value globalNorm(OpBuilder &builder, Location loc, ArrayRef<Trained> trained, Value scale) {
    Value total;
    for (const Trained &one : trained) {
      Value squares = sumOfSquares(builder, one.gradient);
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

  void updateOne(func::FuncOp function, OpBuilder &builder, Trained &one, Value scale) {
    Location loc = one.state.getLoc();
    Value param = stateArgument(function, one.state.getSymName(), one.state.getType());
    if (optimizer == "sgd")
      return updateSGD(function, builder, loc, one, param, scale);
    std::string first = makeState(one.state, train::Role::Moment1, "moment1");
    std::string second = makeState(one.state, train::Role::Moment2, "moment2");
    SmallVector<Value> operands = {param, stateArgument(function, first, param.getType()),
                                   stateArgument(function, second, param.getType()), one.gradient, scale,
                                   scalar(function, optimizer == "adamw" ? "lr_decay" : "weight_decay")};
    for (StringRef name : {"step_size", "one_minus_beta1", "beta2", "one_minus_beta2", "bias_correction2_sqrt", "eps"})
      operands.push_back(scalar(function, name));
    SmallVector<NamedAttribute> attributes = settings(builder, one.state);
    Operation *op = optimizer == "adamw" ? train::AdamWOp::create(builder, loc, operands, attributes).getOperation()
                                         : train::AdamOp::create(builder, loc, operands, attributes).getOperation();
    returnState(function, one.state.getSymName(), op->getResult(0));
    returnState(function, first, op->getResult(1));
    returnState(function, second, op->getResult(2));
  }

  SmallVector<NamedAttribute> settings(OpBuilder &builder, train::StateOp state) {
    return {builder.getNamedAttr("decay", builder.getBoolAttr(state.getDecay())),
            builder.getNamedAttr("lr_scale", builder.getF64FloatAttr(state.getLrScale().convertToDouble()))};
  }

  void updateSGD(func::FuncOp function, OpBuilder &builder, Location loc, Trained &one, Value param, Value scale) {
    Value decay = scalar(function, "weight_decay"), rate = scalar(function, "lr");
    SmallVector<NamedAttribute> attributes = settings(builder, one.state);
    std::string name = one.state.getSymName().str();
    if (momentum == 0) {
      auto sgd = train::SGDOp::create(builder, loc, ValueRange{param, one.gradient, scale, decay, rate}, attributes);
      return returnState(function, name, sgd.getNewParam());
    }
    std::string buffer = makeState(one.state, train::Role::Momentum, "momentum");
    attributes.push_back(builder.getNamedAttr("nesterov", builder.getBoolAttr(nesterov)));
    SmallVector<Value> operands = {param, stateArgument(function, buffer, param.getType()), one.gradient, scale, decay, rate,
                                   scalar(function, "momentum")};
    auto sgd = train::MomentumOp::create(builder, loc, operands, attributes);
    returnState(function, name, sgd.getNewParam());
    returnState(function, buffer, sgd.getNewBuffer());
  }
};
} // namespace
} // namespace kedge::autodiff
