// Gradients of movement ops: data goes back where it came from.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
using Grads = SmallVectorImpl<Value>;
DenseI64ArrayAttr shapeAttr(Value like) { return DenseI64ArrayAttr::get(like.getContext(), shapeOf(like)); }
} // namespace

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(ReshapeOp::create(builder, getLoc(), dY[0], shapeAttr(getData())));
  return success();
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [to, from] : llvm::enumerate(getPerm()))
    inverse[from] = to;
  dX.push_back(TransposeOp::create(builder, getLoc(), dY[0], inverse));
  return success();
}

LogicalResult ExpandOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(reduceTo(builder, getLoc(), dY[0], getInput()));
  return success();
}

LogicalResult TileOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  // Repetitions become dims of their own: [r0 d0, r1 d1] -> [r0, d0, r1, d1] -> sum over r.
  SmallVector<int64_t> apart, once;
  for (auto [size, repeat] : llvm::zip(shapeOf(getInput()), getRepeats())) {
    apart.append({repeat, size});
    once.append({1, size});
  }
  Value like = ReshapeOp::create(builder, getLoc(), getInput(), once);
  Value split = ReshapeOp::create(builder, getLoc(), dY[0], apart);
  Value sum = reduceTo(builder, getLoc(), split, like);
  dX.push_back(ReshapeOp::create(builder, getLoc(), sum, shapeAttr(getInput())));
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  SmallVector<int64_t> parts;
  for (Value input : getInputs())
    parts.push_back(shapeOf(input)[getAxis()]);
  int64_t rank = rankOf(getResult()), at = 0;
  SmallVector<int64_t> starts(rank, 0), ends(shapeOf(getResult())), steps(rank, 1);
  for (int64_t part : parts) {
    starts[getAxis()] = at;
    ends[getAxis()] = at += part;
    dX.push_back(SliceOp::create(builder, getLoc(), dY[0], starts, ends, steps));
  }
  return success();
}

LogicalResult SplitOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  SmallVector<Value> parts;
  for (auto [grad, output] : llvm::zip(dY, getOutputs()))
    parts.push_back(grad ? grad : zerosLike(builder, getLoc(), output));
  dX.push_back(ConcatOp::create(builder, getLoc(), parts, getAxis()));
  return success();
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(train::SliceGradOp::create(builder, getLoc(), dY[0], getStarts(), getEnds(), getSteps(),
                                          shapeOf(getData())));
  return success();
}

bool PadOp::isDifferentiableOperand(unsigned index) { return index == 0; }
LogicalResult PadOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  if (getMode() == PadMode::Constant) {
    // Undone by the opposite pads: what was added is cropped, what was cropped was multiplied by zero.
    SmallVector<int64_t> opposite;
    for (int64_t pad : getPads())
      opposite.push_back(-pad);
    dX.push_back(PadOp::create(builder, getLoc(), dY[0], Value(), getMode(), opposite));
  } else {
    dX.push_back(
        train::PadGradOp::create(builder, getLoc(), dY[0], getMode(), getPads(), shapeOf(getData())));
  }
  dX.resize(getNumOperands());
  return success();
}

bool GatherOp::isDifferentiableOperand(unsigned index) { return index == 0; }
LogicalResult GatherOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(train::GatherGradOp::create(builder, getLoc(), dY[0], getIndices(), getAxisAttr(),
                                           getPaddingIdxAttr(), shapeAttr(getData())));
  dX.push_back({});
  return success();
}

bool GatherElementsOp::isDifferentiableOperand(unsigned index) { return index == 0; }
LogicalResult GatherElementsOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(train::GatherElementsGradOp::create(builder, getLoc(), dY[0], getIndices(), getAxis(),
                                                   shapeOf(getData())));
  dX.push_back({});
  return success();
}

bool GatherNDOp::isDifferentiableOperand(unsigned index) { return index == 0; }
LogicalResult GatherNDOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(train::GatherNDGradOp::create(builder, getLoc(), dY[0], getIndices(), getBatchDims(),
                                             shapeOf(getData())));
  dX.push_back({});
  return success();
}

LogicalResult TriluOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(TriluOp::create(builder, getLoc(), dY[0], getUpperAttr(), getKAttr()));
  return success();
}

bool ReverseSequenceOp::isDifferentiableOperand(unsigned index) { return index == 0; }
LogicalResult ReverseSequenceOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(
      ReverseSequenceOp::create(builder, getLoc(), dY[0], getSequenceLens(), getBatchAxis(), getTimeAxis()));
  dX.push_back({});
  return success();
}

LogicalResult ResizeOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  dX.push_back(train::ResizeGradOp::create(
      builder, getLoc(), dY[0], getModeAttr(), getCoordinateTransformationModeAttr(), getNearestModeAttr(),
      getCubicCoeffAAttr(), getExcludeOutsideAttr(), getExtrapolationValueAttr(), getAntialiasAttr(),
      getScalesAttr(), getRoiAttr(), shapeAttr(getX())));
  return success();
}

LogicalResult GridSampleOp::buildGradient(OpBuilder &builder, ValueRange dY, Grads &dX) {
  auto op = train::GridSampleGradOp::create(builder, getLoc(), dY[0], getX(), getGrid(), getModeAttr(),
                                            getPaddingModeAttr(), getAlignCornersAttr());
  dX.append({op.getDX(), op.getDGrid()});
  return success();
}
