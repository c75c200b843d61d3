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
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.h"
#include "passes/Adapters/AdapterSites.h"
#include "passes/Adapters/Passes.h"

namespace kedge::adapters {
#define GEN_PASS_DEF_FOLDNORMS
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;

/// A convolution with a rounded weight, and what normalises its result.
struct NormedConv {
  onnx::ConvOp conv;
  Operation *norm;
  tune::FoldedNormAttr facts;
};

struct FoldNorms : impl::FoldNormsBase<FoldNorms> {
  func::FuncOp model;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model)
      return;
    int64_t count = 0;
    for (BlockArgument weight : model.getArguments()) {
      FlatSymbolRefAttr symbol = train::stateOfArgument(model, weight.getArgNumber());
      auto state =
          symbol ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(model, symbol) : train::StateOp();
      if (!state || !tune::fakeQuantizationOf(state))
        continue;
      if (const auto found = normOf(weight)) {
        fold(weight, *found);
        state->setAttr(tune::foldedNormName, found->facts);
        ++count;
      }
    }
    addStatistic("norms", count);
  }

  FlatSymbolRefAttr stateOf(Value value) {
    auto argument = dyn_cast_if_present<BlockArgument>(value);
    return argument ? train::stateOfArgument(model, argument.getArgNumber()) : FlatSymbolRefAttr();
  }

  static bool isZeros(Value value) {
    if (auto expanded = value.getDefiningOp<onnx::ExpandOp>())
      value = expanded->getOperand(0);
    auto constant = value.getDefiningOp<onnx::ConstantOp>();
    auto values = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
    return values && values.isSplat() && values.getSplatValue<APFloat>().isZero();
  }

  /// The one convolution that reads the rounded weight, if a BatchNormalization alone reads that.
  std::optional<NormedConv> normOf(BlockArgument weight) {
    onnx::ConvOp conv;
    for (Operation *user : weight.getUsers())
      if (auto rounded = dyn_cast<train::FakeQuantizeOp>(user)) {
        if (conv || !rounded->hasOneUse())
          return {};
        conv = dyn_cast<onnx::ConvOp>(*rounded->user_begin());
        if (!conv || conv.getW() != rounded.getResult())
          return {};
      } else if (!isa<onnx::ReduceMinOp, onnx::ReduceMaxOp>(user)) {
        return {};
      }
    if (!conv || !conv->hasOneUse())
      return {};
    Operation *norm = *conv->user_begin();
    if (!isa<train::BatchNormOp, onnx::BatchNormalizationOp>(norm) || norm->getOperand(0) != conv.getY())
      return {};
    FlatSymbolRefAttr states[4];
    for (unsigned k = 0; k < 4; ++k)
      if (!(states[k] = stateOf(norm->getOperand(k + 1))))
        return {};
    FlatSymbolRefAttr bias = stateOf(conv.getB());
    if (conv.getB() && !bias && !isZeros(conv.getB()))
      return {};
    auto epsilon = norm->getAttrOfType<FloatAttr>("epsilon");
    if (!epsilon)
      epsilon = Builder(&getContext()).getF32FloatAttr(1e-5f);
    return NormedConv{
        conv, norm,
        tune::FoldedNormAttr::get(&getContext(), states[0], states[1], states[2], states[3], bias, epsilon)};
  }

  static Value along(OpBuilder &builder, Location loc, Value factor, int64_t rank, int64_t axis) {
    SmallVector<int64_t> shape(static_cast<size_t>(rank), 1);
    shape[static_cast<size_t>(axis)] = shapeOf(factor)[0];
    return onnx::ReshapeOp::create(builder, loc, factor, builder.getDenseI64ArrayAttr(shape));
  }

  /// conv(x, round(w s)) / s, normalised: as evaluation and the deployed file have it, since s is of the
  /// running variance; in training, what the batch's own statistics normalise is that of the rounded weight.
  void fold(BlockArgument weight, const NormedConv &found) {
    SmallVector<OpOperand *> reads;
    Operation *first = found.conv;
    for (OpOperand &use : weight.getUses()) {
      reads.push_back(&use);
      if (use.getOwner()->isBeforeInBlock(first))
        first = use.getOwner();
    }
    PlacedBuilder builder(first);
    Location loc = found.norm->getLoc();
    Value scale = found.norm->getOperand(1), variance = found.norm->getOperand(4);
    Value factor = onnx::MulOp::create(
        builder, loc, scale,
        train::InvStdOp::create(builder, loc, variance.getType(), variance, found.facts.getEpsilon()));
    Value isNone = onnx::EqualOp::create(builder, loc, factor, scalarLike(builder, loc, factor, 0));
    factor = onnx::WhereOp::create(builder, loc, isNone, scalarLike(builder, loc, factor, 1), factor);
    Value folded = onnx::MulOp::create(builder, loc, weight, along(builder, loc, factor, rankOf(weight), 0));
    for (OpOperand *read : reads)
      read->set(folded);
    apart(found, factor);
  }

  /// The product without its bias is divided by the factor; the bias comes after.
  static void apart(const NormedConv &found, Value factor) {
    onnx::ConvOp conv = found.conv;
    PlacedBuilder builder(found.norm);
    Location loc = conv.getLoc();
    Value bias = conv.getB();
    conv.getBMutable().clear();
    const int64_t rank = rankOf(conv.getY());
    Value y = onnx::DivOp::create(builder, loc, conv.getY(), along(builder, loc, factor, rank, 1));
    if (bias && !isZeros(bias))
      y = onnx::AddOp::create(builder, loc, y, along(builder, loc, bias, rank, 1));
    found.norm->setOperand(0, y);
  }
};
} // namespace
} // namespace kedge::adapters
