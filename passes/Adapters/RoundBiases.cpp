#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.h"
#include "passes/Adapters/AdapterSites.h"
#include "passes/Adapters/Passes.h"
#include <limits>

namespace kedge::adapters {
#define GEN_PASS_DEF_ROUNDBIASES
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;

struct RoundBiases : impl::RoundBiasesBase<RoundBiases> {
  func::FuncOp model;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model)
      return;
    int64_t count = 0;
    SmallVector<Operation *> products;
    model.walk([&](Operation *op) {
      if (isa<onnx::ConvOp, onnx::GemmOp>(op) && gridOf(op))
        products.push_back(op);
    });
    for (Operation *product : products)
      count += isFolded(product) ? roundFolded(cast<onnx::ConvOp>(product)) : roundOwn(product);
    addStatistic("biases", count);
  }

  /// The steps of the product's integers: its input's scale times its weight's. Null where one is not
  /// rounded, or in blocks.
  static std::pair<train::FakeQuantizeOp, train::FakeQuantizeOp> roundings(Operation *product) {
    return {product->getOperand(0).getDefiningOp<train::FakeQuantizeOp>(),
            product->getOperand(1).getDefiningOp<train::FakeQuantizeOp>()};
  }

  static bool gridOf(Operation *product) {
    const auto [x, weight] = roundings(product);
    if (!x || !weight)
      return false;
    auto gemm = dyn_cast<onnx::GemmOp>(product);
    return !gemm || (gemm.getAlpha().convertToFloat() == 1 && gemm.getBeta().convertToFloat() == 1);
  }

  static Value stepsOf(OpBuilder &builder, Location loc, Operation *product) {
    auto [x, weight] = roundings(product);
    Value scales = weight.getScale();
    if (rankOf(scales) > 0) {
      const SmallVector<int64_t> flat = {cast<RankedTensorType>(scales.getType()).getNumElements()};
      scales = onnx::ReshapeOp::create(builder, loc, scales, builder.getDenseI64ArrayAttr(flat));
    }
    return onnx::MulOp::create(builder, loc, x.getScale(), scales);
  }

  static Value rounded(OpBuilder &builder, Location loc, Value bias, Operation *product) {
    Value steps = stepsOf(builder, loc, product);
    auto type = cast<RankedTensorType>(steps.getType());
    Value zero = splat(builder, loc, type, 0);
    return train::FakeQuantizeOp::create(
        builder, loc, bias, steps, zero, builder.getI64IntegerAttr(std::numeric_limits<int32_t>::min()),
        builder.getI64IntegerAttr(std::numeric_limits<int32_t>::max()), FloatAttr());
  }

  int64_t roundOwn(Operation *product) {
    if (product->getNumOperands() < 3)
      return 0;
    auto bias = dyn_cast<BlockArgument>(product->getOperand(2));
    if (!bias || rankOf(bias) != 1 || !train::stateOfArgument(model, bias.getArgNumber()))
      return 0;
    PlacedBuilder builder(product);
    Value there = rounded(builder, product->getLoc(), bias, product);
    product->setOperand(2, train::ByModeOp::create(builder, product->getLoc(), bias, there));
    return 1;
  }

  /// What kedge-fold-norms has left of a product: the division by a norm's factor.
  static onnx::DivOp divisionOf(Operation *product) {
    auto conv = dyn_cast<onnx::ConvOp>(product);
    return conv && conv->hasOneUse() ? dyn_cast<onnx::DivOp>(*conv->user_begin()) : onnx::DivOp();
  }

  static Operation *normOf(Operation *product) {
    onnx::DivOp division = divisionOf(product);
    if (!division || !division->hasOneUse())
      return nullptr;
    Operation *next = *division->user_begin();
    if (isa<onnx::AddOp>(next) && next->hasOneUse())
      next = *next->user_begin();
    return isa<train::BatchNormOp, onnx::BatchNormalizationOp>(next) ? next : nullptr;
  }

  static bool isFolded(Operation *product) { return normOf(product) != nullptr; }

  /// In evaluation the norm is the product's bias.
  int64_t roundFolded(onnx::ConvOp conv) {
    Operation *norm = normOf(conv), *before = norm->getOperand(0).getDefiningOp();
    PlacedBuilder builder(norm);
    builder.setInsertionPointAfter(norm);
    Location loc = norm->getLoc();
    Value scale = norm->getOperand(1), shift = norm->getOperand(2), mean = norm->getOperand(3),
          variance = norm->getOperand(4);
    Value factor = onnx::MulOp::create(builder, loc, scale,
                                       train::InvStdOp::create(builder, loc, variance.getType(), variance,
                                                               norm->getAttrOfType<FloatAttr>("epsilon")));
    Value from = mean;
    if (auto add = dyn_cast<onnx::AddOp>(before)) {
      const SmallVector<int64_t> flat(shapeOf(mean));
      Value own =
          onnx::ReshapeOp::create(builder, loc, add->getOperand(1), builder.getDenseI64ArrayAttr(flat));
      from = onnx::SubOp::create(builder, loc, mean, own);
    }
    Value bias = onnx::SubOp::create(builder, loc, shift, onnx::MulOp::create(builder, loc, from, factor));
    bias = rounded(builder, loc, bias, conv);
    SmallVector<int64_t> channels(static_cast<size_t>(rankOf(conv.getY())), 1);
    channels[1] = shapeOf(shift)[0];
    Value evaluated = onnx::AddOp::create(
        builder, loc, conv.getY(),
        onnx::ReshapeOp::create(builder, loc, bias, builder.getDenseI64ArrayAttr(channels)));
    Value result = norm->getResult(0);
    auto byMode = train::ByModeOp::create(builder, loc, result, evaluated);
    result.replaceAllUsesExcept(byMode, byMode);
    return 1;
  }
};
} // namespace
} // namespace kedge::adapters
