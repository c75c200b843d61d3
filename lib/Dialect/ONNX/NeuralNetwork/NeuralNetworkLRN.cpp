// Local response normalisation as a product, a pool over channels and powers.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

LogicalResult LRNOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (rankOf(adaptor.getX()) < 2 || (int64_t)adaptor.getSize() <= 0)
    return emitOptionalError(loc, "LRN needs X [N, C, ...] and a positive size, found ",
                             adaptor.getX().getType());
  types.push_back(adaptor.getX().getType());
  return success();
}

// The mean of `size` neighbours of x^2, padded with zeros, is an average pool over [N, 1, C, rest] with a
// window of [size, 1].
LogicalResult LRNOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Value x = getX();
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t size = getSize(), before = (size - 1) / 2, after = size - 1 - before;
  Value square = MulOp::create(builder, getLoc(), x, x);
  SmallVector<int64_t> image = {shape[0], 1, shape[1], elementCount(shape.drop_front(2))};
  Value channels = ReshapeOp::create(builder, getLoc(), square, image);
  SmallVector<int64_t> window = {size, 1}, ones = {1, 1}, pads = {before, 0, after, 0};
  Value mean =
      AveragePoolOp::create(builder, getLoc(), channels, window, ones, pads, ones, /*ceil_mode=*/false,
                            /*count_include_pad=*/true);
  mean = ReshapeOp::create(builder, getLoc(), mean, shape);
  auto number = [&](const APFloat &value) {
    return scalarLike(builder, getLoc(), x, value.convertToDouble());
  };
  Value scaled = MulOp::create(builder, getLoc(), mean, number(getAlpha()));
  Value base = AddOp::create(builder, getLoc(), scaled, number(getBias()));
  Value divisor = PowOp::create(builder, getLoc(), base, number(getBeta()));
  results.push_back(DivOp::create(builder, getLoc(), x, divisor));
  return success();
}
