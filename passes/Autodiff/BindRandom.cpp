#include "FunctionEditing.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/GradientOps.h"
#include "kedge/Support/Statistics.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_BINDRANDOM
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

struct BindRandom : impl::BindRandomBase<BindRandom> {
  void runOnOperation() override {
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
    addStatistic("kedge-bind-random", "random ops", dropouts.size() + attentions.size());
  }

  Value scalar(StringRef name) {
    return argumentFor(getOperation(), train::BindingKind::Scalar, name,
                       RankedTensorType::get({}, IntegerType::get(&getContext(), 64)));
  }

  void bind(onnx::DropoutOp op) {
    OpBuilder builder(op);
    Value seed = scalar("seed"), step = scalar("step"), row = scalar("row_base");
    auto dropout = train::DropoutOp::create(builder, op.getLoc(), op->getResultTypes(), op.getX(), seed, step, row,
                                            op.getRatioAttr(), op.getOpIdAttr(),
                                            builder.getI64IntegerAttr(batchAxis(op)), builder.getI64IntegerAttr(rowSize(op)),
                                            op.getWithMaskAttr());
    op->replaceAllUsesWith(dropout);
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
      OpBuilder builder(op);
      auto type = cast<RankedTensorType>(op.getMask().getType());
      Value kept = onnx::ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(type, ArrayRef<bool>(true)));
      op.getMask().replaceAllUsesWith(kept);
    }
  }

  /// Rows of the step run along dim 0 where it holds the batch, alone or folded with further dims.
  int64_t batchRows() {
    for (BlockArgument argument : getOperation().getArguments())
      if (train::bindingOfArgument(getOperation(), argument.getArgNumber(), train::BindingKind::Input) && rankOf(argument) > 0)
        return shapeOf(argument)[0];
    return 0;
  }

  int64_t batchAxis(onnx::DropoutOp op) {
    int64_t rows = batchRows();
    return rows > 0 && rankOf(op.getX()) > 0 && shapeOf(op.getX())[0] % rows == 0 ? 0 : -1;
  }

  int64_t rowSize(onnx::DropoutOp op) {
    return batchAxis(op) < 0 ? 1 : shapeOf(op.getX())[0] / batchRows();
  }
};
} // namespace
} // namespace kedge::autodiff
