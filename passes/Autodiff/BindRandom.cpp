#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_BINDRANDOM
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct BindRandom : impl::BindRandomBase<BindRandom> {
  void run() override {
    SmallVector<onnx::DropoutOp> dropouts;
    getOperation().walk([&](onnx::DropoutOp op) { dropouts.push_back(op); });
    for (onnx::DropoutOp op : dropouts) {
      if (op.getTrainingMode() && op.getRatio().convertToFloat() > 0)
        bind(op);
      else
        bypass(op);
      op.erase();
    }
    SmallVector<train::AttentionOp> attentions;
    getOperation().walk([&](train::AttentionOp op) {
      if (!op.getRatio().isZero() && op.getRandom().empty())
        attentions.push_back(op);
    });
    for (train::AttentionOp op : attentions)
      op.getTrainingMode() ? bind(op) : bypass(op);
    SmallVector<Operation *> drawn;
    getOperation().walk([&](Operation *op) {
      if (isa<onnx::RandomNormalOp, onnx::RandomUniformOp>(op))
        drawn.push_back(op);
    });
    for (Operation *op : drawn) {
      if (auto normal = dyn_cast<onnx::RandomNormalOp>(op))
        draw(normal, train::RandomKind::Normal, normal.getMean(), normal.getScale());
      if (auto uniform = dyn_cast<onnx::RandomUniformOp>(op))
        draw(uniform, train::RandomKind::Uniform, uniform.getLow(), uniform.getHigh() - uniform.getLow());
      op->erase();
    }
    addStatistic("random ops", dropouts.size() + attentions.size() + drawn.size());
  }

  Value scalar(StringRef name) {
    return argumentFor(getOperation(), train::BindingKind::Scalar, name,
                       RankedTensorType::get({}, IntegerType::get(&getContext(), 64)));
  }

  void bind(onnx::DropoutOp op) {
    PlacedBuilder builder(op);
    Value seed = scalar("seed"), step = scalar("step"), row = scalar("row_base");
    auto [axis, size] = rowsOf(tensorType(op.getX()));
    auto dropout =
        train::DropoutOp::create(builder, op.getLoc(), op->getResultTypes(), op.getX(), seed, step, row,
                                 op.getRatioAttr(), op.getOpIdAttr(), builder.getI64IntegerAttr(axis),
                                 builder.getI64IntegerAttr(size), op.getWithMaskAttr());
    op->replaceAllUsesWith(dropout);
  }

  template <typename Op> void draw(Op op, train::RandomKind kind, const APFloat &a, const APFloat &b) {
    PlacedBuilder builder(op);
    auto number = [&](const APFloat &value) { return builder.getF64FloatAttr(value.convertToDouble()); };
    auto [axis, size] = rowsOf(tensorType(op.getResult()));
    Value seed = scalar("seed"), step = scalar("step"), row = scalar("row_base");
    Value random = train::RandomOp::create(builder, op.getLoc(), seed, step, row,
                                           builder.getStringAttr(stringifyEnum(kind)), number(a), number(b),
                                           op.getShapeAttr(), op.getDtypeAttr(), op.getOpIdAttr(),
                                           builder.getI64IntegerAttr(axis), builder.getI64IntegerAttr(size));
    op.getResult().replaceAllUsesWith(random);
  }

  /// Its probabilities have the batch of Q as dim 0.
  void bind(train::AttentionOp op) {
    int64_t samples = shapeOf(op.getLSE())[0], rows = batchRows();
    bool keyedByRow = rows > 0 && samples % rows == 0;
    op.setRowSize(std::max<int64_t>(1, keyedByRow ? samples / rows : samples));
    op.setTrainingMode(false);
    op.getRandomMutable().assign(ValueRange{scalar("seed"), scalar("step"), scalar("row_base")});
  }

  void bypass(train::AttentionOp op) { op.setRatio(APFloat(0.0f)); }

  void bypass(onnx::DropoutOp op) {
    op.getResult().replaceAllUsesWith(op.getX());
    if (op.getMask() && !op.getMask().use_empty()) {
      PlacedBuilder builder(op);
      auto type = cast<RankedTensorType>(op.getMask().getType());
      Value kept =
          onnx::ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(type, ArrayRef<bool>(true)));
      op.getMask().replaceAllUsesWith(kept);
    }
  }

  /// Rows of the step run along dim 0 where it holds the batch, alone or folded with further dims.
  int64_t batchRows() {
    for (BlockArgument argument : getOperation().getArguments())
      if (train::bindingOfArgument(getOperation(), argument.getArgNumber(), train::BindingKind::Input) &&
          rankOf(argument) > 0)
        return shapeOf(argument)[0];
    return 0;
  }

  /// The batch's axis (-1: not known), and how many of its indices belong to one row of data.
  std::pair<int64_t, int64_t> rowsOf(RankedTensorType type) {
    int64_t rows = batchRows();
    bool keyed = rows > 0 && type.getRank() > 0 && type.getDimSize(0) > 0 && type.getDimSize(0) % rows == 0;
    return keyed ? std::pair<int64_t, int64_t>(0, type.getDimSize(0) / rows)
                 : std::pair<int64_t, int64_t>(-1, 1);
  }
};
} // namespace
} // namespace kedge::autodiff
