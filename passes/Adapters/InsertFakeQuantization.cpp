#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.h"
#include "kedge/Support/Assert.h"
#include "passes/Adapters/AdapterSites.h"
#include "passes/Adapters/Passes.h"
#include <cmath>

namespace kedge::adapters {
#define GEN_PASS_DEF_INSERTFAKEQUANTIZATION
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;
using tune::Format;

/// Where the range of a product's input is kept, and what is added to its scale.
struct Range {
  FlatSymbolRefAttr min, max, learned;
};

/// Of a state: what the names of its ranges begin with.
struct Owner {
  train::StateOp state;
  std::string path;
};

/// A value, rounded.
struct RoundedValue {
  Range range;
  Value value;
  train::StateOp owner;
};

struct InsertFakeQuantization : impl::InsertFakeQuantizationBase<InsertFakeQuantization> {
  using Base::Base;
  func::FuncOp model;
  llvm::DenseMap<Value, RoundedValue> ranges;
  llvm::DenseMap<Operation *, Owner> products; ///< with a weight that no other product reads
  llvm::DenseMap<Value, Value> sumsOf;         ///< results of products, rounded for sums
  int64_t followed = 0;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model whose weights could be rounded");
      return signalPassFailure();
    }
    ranges.clear();
    products.clear();
    sumsOf.clear();
    followed = 0;
    int64_t count = 0;
    const auto unused = applyRules<FakeQuantizeRule>(
        model, weights, [&](AdaptedWeight &weight) { return ruleFor(weight); },
        [&](AdaptedWeight &weight, const FakeQuantizeRule &rule) {
          if (failed(check(weight, rule)))
            return failure();
          insert(weight, rule.format);
          ++count;
          return success();
        });
    if (failed(unused))
      return signalPassFailure();
    if (*unused) {
      getOperation().emitError() << "--qat '" << (*unused)->text()
                                 << "': no weight of a MatMul, Gemm or Conv has such a name";
      return signalPassFailure();
    }
    if (sums)
      roundSums();
    addStatistic("weights", count);
    addStatistic("ranges", followed);
  }

  /// Biases and tables that are looked up stay as they are.
  const FakeQuantizeRule *ruleFor(AdaptedWeight &weight) const {
    if (weight.sites.empty())
      return nullptr;
    for (const FakeQuantizeRule &rule : weights)
      if (rule.names.isIn(weight.name().str()))
        return &rule;
    return nullptr;
  }

  LogicalResult check(AdaptedWeight &weight, const FakeQuantizeRule &rule) {
    auto type = cast<RankedTensorType>(weight.value.getType());
    auto refuse = [&] {
      return getOperation().emitError() << "--qat '" << rule.text() << "': '" << weight.name() << "' ";
    };
    if (tune::encodingOf(weight.state))
      return refuse() << "is in few bits already: fake quantisation of it is not available yet";
    if (!type.getElementType().isF32())
      return refuse() << "(" << type << ") is not stored in f32: other types are not available yet";
    if (type.getRank() > 2 && !weight.isConvolution())
      return refuse() << "(" << type
                      << ") is a stack of matrices: fake quantisation of it is not available yet";
    if (llvm::any_of(weight.sites,
                     [&](const Site &site) { return site.outFirst != weight.sites.front().outFirst; }))
      return refuse()
             << "is read as it is stored and transposed: fake quantisation of it is not available yet";
    if (scales != Granularity::Block)
      return success();
    if (weight.isConvolution())
      return refuse() << "is a convolution's: blocks of it are not available yet; give --qat-scales channel";
    if (const int64_t inputs = type.getDimSize(inputAxis(weight)); inputs % block != 0)
      return refuse() << "has " << inputs << " inputs: blocks of " << block.getValue()
                      << " that do not divide them are not available yet";
    return success();
  }

  static int64_t inputAxis(const AdaptedWeight &weight) { return weight.sites.front().outFirst ? 1 : 0; }
  static int64_t outputAxis(const AdaptedWeight &weight) { return weight.sites.front().outFirst ? 0 : 1; }

  Format inputFormat() const { return activations == Activations::Int8 ? Format::Int8 : Format::UInt8; }

  void insert(AdaptedWeight &weight, Format format) {
    Range range;
    llvm::sort(weight.sites, [](const Site &a, const Site &b) { return a.op->isBeforeInBlock(b.op); });
    if (activations != Activations::None)
      for (const Site &site : weight.sites)
        roundInput(weight, site, range);
    if (weight.sites.size() == 1)
      products[weight.sites.front().op] = {weight.state, weight.path()};
    roundWeight(weight, format);
    OpBuilder builder(&getContext());
    IntegerAttr axis, length;
    if (scales != Granularity::Tensor)
      axis = builder.getI64IntegerAttr(scales == Granularity::Block ? inputAxis(weight) : outputAxis(weight));
    if (scales == Granularity::Block)
      length = builder.getI64IntegerAttr(block);
    weight.state->setAttr(tune::fakeQuantizedName,
                          tune::FakeQuantizedAttr::get(&getContext(), format, axis, length, range.min,
                                                       range.max, range.learned, {}, {}, {}, inputFormat()));
  }

  // --- Weights -------------------------------------------------------------------------------------------

  void roundWeight(AdaptedWeight &weight, Format format) {
    Operation *first = *weight.value.user_begin();
    for (Operation *user : weight.value.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    PlacedBuilder builder(first);
    Location loc = weight.state.getLoc();
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : weight.value.getUses())
      uses.push_back(&use);
    SmallVector<int64_t> whole(shapeOf(weight.value)), axes;
    Value x = weight.value;
    if (scales == Granularity::Block) {
      const int64_t axis = inputAxis(weight);
      SmallVector<int64_t> blocks(whole);
      blocks[axis] = block;
      blocks.insert(blocks.begin() + axis, whole[axis] / block);
      x = reshaped(builder, loc, x, blocks);
      axes = {axis + 1};
    } else {
      for (int64_t dim = 0; dim < static_cast<int64_t>(whole.size()); ++dim)
        if (scales == Granularity::Tensor || dim != outputAxis(weight))
          axes.push_back(dim);
    }
    const bool keeps = scales != Granularity::Tensor;
    Value least = onnx::ReduceMinOp::create(builder, loc, x, axes, keeps),
          most = onnx::ReduceMaxOp::create(builder, loc, x, axes, keeps);
    const IntegerGrid grid = gridOf(format);
    Value rounded = onGrid(builder, loc, x, least, most, grid, grid.low);
    if (scales == Granularity::Block)
      rounded = reshaped(builder, loc, rounded, whole);
    for (OpOperand *use : uses)
      use->set(rounded);
  }

  static Value reshaped(OpBuilder &builder, Location loc, Value x, ArrayRef<int64_t> shape) {
    return onnx::ReshapeOp::create(builder, loc, x, builder.getDenseI64ArrayAttr(shape));
  }

  /// `lowest`: the least integer of the type, which values outside of the range become.
  Value onGrid(OpBuilder &builder, Location loc, Value x, Value min, Value max, IntegerGrid grid,
               int64_t lowest) {
    IntegerAttr low = builder.getI64IntegerAttr(grid.low), high = builder.getI64IntegerAttr(grid.high);
    auto scale = train::RangeScaleOp::create(builder, loc, min, max, low, high);
    return rounded(builder, loc, x, scale.getScale(), scale.getZero(), lowest, grid.high, {});
  }

  Value rounded(OpBuilder &builder, Location loc, Value x, Value scale, Value zero, int64_t lowest,
                int64_t highest, FloatAttr learning) {
    return train::FakeQuantizeOp::create(builder, loc, x, warmedUp(builder, loc, scale), zero,
                                         builder.getI64IntegerAttr(lowest),
                                         builder.getI64IntegerAttr(highest), learning);
  }

  // --- Inputs --------------------------------------------------------------------------------------------

  /// Products of one weight follow one range, in their order; so do weights with the same input.
  void roundInput(AdaptedWeight &weight, const Site &site, Range &range) {
    Value x = site.op->getOperand(0);
    const bool alone = weight.sites.size() == 1;
    if (auto found = ranges.find(x); alone && found != ranges.end()) {
      range = found->second.range;
      site.op->setOperand(0, found->second.value);
      return;
    }
    PlacedBuilder builder(site.op);
    if (alone) // before all products that read it
      builder.setInsertionPointAfterValue(x);
    Value rounded = follow(builder, site.op->getLoc(), {weight.state, weight.path() + ".input"}, x, range);
    site.op->setOperand(0, rounded);
    if (alone)
      ranges[x] = {range, rounded, weight.state};
  }

  Value follow(OpBuilder &builder, Location loc, Owner owner, Value x, Range &range) {
    const SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
    Value least = onnx::ReduceMinOp::create(builder, loc, x, all, false),
          most = onnx::ReduceMaxOp::create(builder, loc, x, all, false);
    const bool isFirst = !range.min;
    if (isFirst) {
      if (learned) // stands behind the weight's, after the ones made next
        range.learned = addScalar(owner, "_step", train::Role::Parameter);
      range.max = addScalar(owner, "_max", train::Role::Buffer);
      range.min = addScalar(owner, "_min", train::Role::Buffer);
      ++followed;
    }
    Value min = argumentOf(range.min), max = argumentOf(range.max);
    // A product further on starts from what the ones before it left.
    Value oldMin = isFirst ? min : resultOf(range.min), oldMax = isFirst ? max : resultOf(range.max);
    auto moved = train::MovingRangeOp::create(builder, loc, least, most, oldMin, oldMax,
                                              builder.getF32FloatAttr(static_cast<float>(averaging)));
    Value newMin = unfrozen(builder, loc, moved.getNewMin(), oldMin),
          newMax = unfrozen(builder, loc, moved.getNewMax(), oldMax);
    giveBack(range.min, newMin);
    giveBack(range.max, newMax);
    Value nowMin = train::ByModeOp::create(builder, loc, newMin, min),
          nowMax = train::ByModeOp::create(builder, loc, newMax, max);
    const IntegerGrid grid = gridOf(inputFormat());
    const int64_t lowest = inputFormat() == Format::Int8 ? -128 : grid.low;
    return learned ? onLearnedGrid(builder, loc, x, nowMin, nowMax, lowest, range)
                   : onGrid(builder, loc, x, nowMin, nowMax, grid, lowest);
  }

  /// The scale is that of the range, which stays, and a parameter.
  Value onLearnedGrid(OpBuilder &builder, Location loc, Value x, Value min, Value max, int64_t lowest,
                      const Range &range) {
    const IntegerGrid grid = gridOf(inputFormat());
    auto first = train::RangeScaleOp::create(builder, loc, min, max, builder.getI64IntegerAttr(grid.low),
                                             builder.getI64IntegerAttr(grid.high));
    Value moved = onnx::AddOp::create(builder, loc, first.getScale(), argumentOf(range.learned));
    moved = onnx::MaxOp::create(builder, loc, ValueRange{moved, scalarLike(builder, loc, moved, 1e-12)});
    Value none = scalarLike(builder, loc, moved, 0);
    Value unseen = onnx::EqualOp::create(builder, loc, first.getScale(), none);
    Value scale = onnx::WhereOp::create(builder, loc, unseen, none, moved);
    const auto type = cast<RankedTensorType>(x.getType());
    const double features = static_cast<double>(type.getNumElements()) /
                            static_cast<double>(type.getRank() > 0 ? type.getDimSize(0) : 1);
    const double factor = 1 / std::sqrt(features * static_cast<double>(grid.high));
    return rounded(builder, loc, x, scale, first.getZero(), lowest, grid.high,
                   builder.getF32FloatAttr(static_cast<float>(factor)));
  }

  FlatSymbolRefAttr addScalar(Owner owner, StringRef suffix, train::Role role) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(owner.state);
    auto type = RankedTensorType::get({}, builder.getF32Type());
    const std::string name = owner.path + suffix.str();
    auto state = train::StateOp::create(
        builder, owner.state.getLoc(), name, role, type, builder.getUnitAttr(), builder.getStringAttr(name),
        FlatSymbolRefAttr(), /*decay=*/role == train::Role::Buffer, APFloat(1.0), dist::ShardingAttr());
    return FlatSymbolRefAttr::get(state.getSymNameAttr());
  }

  // --- Sums ----------------------------------------------------------------------------------------------

  void roundSums() {
    SmallVector<onnx::AddOp> adds(model.getOps<onnx::AddOp>());
    for (onnx::AddOp add : adds)
      if (isValue(add.getOperand(0)) && isValue(add.getOperand(1)))
        for (OpOperand &operand : add->getOpOperands())
          roundOperand(operand);
  }

  bool isValue(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? !train::stateOfArgument(model, argument.getArgNumber())
                    : !value.getDefiningOp<onnx::ConstantOp>();
  }

  void roundOperand(OpOperand &operand) {
    Value x = operand.get();
    if (auto found = ranges.find(x); found != ranges.end()) {
      operand.set(found->second.value);
      return noteSum(found->second.owner, {});
    }
    if (auto found = sumsOf.find(x); found != sumsOf.end())
      return operand.set(found->second);
    const auto product = products.find(productOf(x));
    if (product == products.end())
      return;
    Owner owner = product->second;
    PlacedBuilder builder(operand.getOwner());
    builder.setInsertionPointAfterValue(x);
    Range range;
    Value rounded = follow(builder, x.getLoc(), {owner.state, owner.path + ".output"}, x, range);
    operand.set(rounded);
    sumsOf[x] = rounded;
    noteSum(owner.state, range);
  }

  /// `output`: without ends, the sum reads the product's input.
  void noteSum(train::StateOp state, Range output) {
    const auto facts = tune::fakeQuantizationOf(state);
    const bool ofOutput = bool(output.min);
    state->setAttr(tune::fakeQuantizedName,
                   tune::FakeQuantizedAttr::get(&getContext(), facts.getFormat(), facts.getAxis(),
                                                facts.getBlock(), facts.getMin(), facts.getMax(),
                                                facts.getLearned(),
                                                ofOutput ? facts.getSums() : UnitAttr::get(&getContext()),
                                                ofOutput ? output.min : facts.getOutMin(),
                                                ofOutput ? output.max : facts.getOutMax(), facts.getInput()));
  }

  /// What makes the value, before a BatchNormalization that alone reads it.
  static Operation *productOf(Value x) {
    Operation *op = x.getDefiningOp();
    if (op && isa<train::BatchNormOp, onnx::BatchNormalizationOp>(op) && op->getOperand(0).hasOneUse())
      return op->getOperand(0).getDefiningOp();
    return op;
  }

  Value argumentOf(FlatSymbolRefAttr state) {
    for (BlockArgument argument : model.getArguments())
      if (train::stateOfArgument(model, argument.getArgNumber()) == state)
        return argument;
    return addArgument(train::BindingAttr::get(&getContext(), train::BindingKind::State, state.getValue()),
                       RankedTensorType::get({}, Float32Type::get(&getContext())));
  }

  Value addArgument(train::BindingAttr binding, Type type) {
    const unsigned index = model.getNumArguments();
    auto inserted = model.insertArgument(index, type, train::boundTo(binding), model.getLoc());
    KEDGE_ASSERT(succeeded(inserted));
    return model.getArgument(index);
  }

  OpOperand *findResult(FlatSymbolRefAttr state) {
    for (OpOperand &result : model.getBody().front().getTerminator()->getOpOperands())
      if (train::stateOfResult(model, result.getOperandNumber()) == state)
        return &result;
    return nullptr;
  }

  Value resultOf(FlatSymbolRefAttr state) { return findResult(state)->get(); }

  void giveBack(FlatSymbolRefAttr state, Value value) {
    if (OpOperand *result = findResult(state))
      return result->set(value);
    auto binding = train::BindingAttr::get(&getContext(), train::BindingKind::State, state.getValue());
    const unsigned index = model.getNumResults();
    auto inserted = model.insertResult(index, value.getType(), train::boundTo(binding));
    KEDGE_ASSERT(succeeded(inserted));
    Operation *end = model.getBody().front().getTerminator();
    end->insertOperands(index, value);
  }

  // --- Steps ---------------------------------------------------------------------------------------------

  /// The number of the step, from 0 on.
  Value step() {
    for (BlockArgument argument : model.getArguments())
      if (auto binding = train::bindingOfArgument(model, argument.getArgNumber(), train::BindingKind::Scalar);
          binding && binding.getName() == "step")
        return argument;
    return addArgument(train::BindingAttr::get(&getContext(), train::BindingKind::Scalar, "step"),
                       RankedTensorType::get({}, IntegerType::get(&getContext(), 64)));
  }

  Value isBefore(OpBuilder &builder, Location loc, int64_t limit) {
    Value now = step();
    Value bound = onnx::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(cast<RankedTensorType>(now.getType()), limit));
    return onnx::LessOp::create(builder, loc, now, bound);
  }

  /// In the steps that only observe, a scale is 0, with which nothing is rounded.
  Value warmedUp(OpBuilder &builder, Location loc, Value scale) {
    if (observe == 0)
      return scale;
    Value none = scalarLike(builder, loc, scale, 0);
    Value now = onnx::WhereOp::create(builder, loc, isBefore(builder, loc, observe), none, scale);
    return train::ByModeOp::create(builder, loc, now, scale);
  }

  Value unfrozen(OpBuilder &builder, Location loc, Value moved, Value old) {
    const int64_t last = learned ? std::max<int64_t>(observe, 1) : freeze;
    if (last == 0)
      return moved;
    return onnx::WhereOp::create(builder, loc, isBefore(builder, loc, last), moved, old);
  }
};
} // namespace
} // namespace kedge::adapters
