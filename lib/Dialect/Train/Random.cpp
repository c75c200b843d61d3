// Numbers drawn by counters: where an element's lie, and train.random.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "lib/Dialect/Train/RandomRows.h"
#include "mlir/IR/Builders.h"
#include <numbers>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

LogicalResult train::checkRows(std::optional<Location> location, RankedTensorType type, int64_t axis,
                               int64_t rowSize) {
  int64_t rank = type.getRank();
  if (axis < -1 || axis >= rank)
    return emitOptionalError(location, "batch_axis ", axis, " is out of range: expected one of [-1, ",
                             rank - 1, "]");
  if (axis >= 0 && (rowSize < 1 || type.getDimSize(axis) % rowSize != 0))
    return emitOptionalError(location, "row_size ", rowSize, " does not divide dimension ", axis, " of ",
                             type);
  return success();
}

std::pair<Value, Value> RandomRows::placeOf(ClusterBodyBuilder &body, Value rowBase) const {
  Type i64 = body.builder.getI64Type();
  body.isUnsigned = false;
  Value row = rowBase, element = body.constantInt(i64, 0);
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    Value index = body.index(dim);
    int64_t size = shape[dim];
    if (dim == axis) {
      Value perRow = body.constantInt(i64, rowSize);
      row = body.add(row, body.div(index, perRow));
      index = body.rem(index, perRow);
      size = rowSize;
    }
    element = body.add(element, body.mul(index, body.constantInt(i64, stride)));
    stride *= size;
  }
  return {row, element};
}

LogicalResult RandomOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto type = RankedTensorType::get(adaptor.getShape(), adaptor.getDtype());
  types.push_back(type);
  return checkRows(location, type, adaptor.getBatchAxis(), adaptor.getRowSize());
}

LogicalResult RandomOp::verify() {
  if (!isa<FloatType>(getDtype()))
    return emitOpError("draws elements of type ") << getDtype() << ", expected a float type";
  return success();
}

void RandomOp::describeCluster(ClusterSpec &spec) { describeBroadcast(getOperation(), spec); }

/// By Box and Muller; 1 - u is never 0.
static Value normalOf(ClusterBodyBuilder &body, Value first, Value second) {
  auto number = [&](double value) { return body.constant(first.getType(), value); };
  Value radius = body.sqrt(body.mul(number(-2), body.log(body.sub(number(1), first))));
  return body.mul(radius, body.cos(body.mul(number(2 * std::numbers::pi), second)));
}

void RandomOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                SmallVectorImpl<Value> &results) {
  RandomRows rows{getShape(), static_cast<int64_t>(getBatchAxis()), static_cast<int64_t>(getRowSize())};
  auto [row, element] = rows.placeOf(body, scalars[2]);
  auto draw = [&](Value number) { return body.random(scalars[0], getOpId(), scalars[1], row, number); };
  Type i64 = body.builder.getI64Type();
  Value drawn;
  if (getDistribution() == RandomKind::Normal) {
    Value first = body.mul(element, body.constantInt(i64, 2));
    drawn = normalOf(body, draw(first), draw(body.add(first, body.constantInt(i64, 1))));
  } else {
    drawn = draw(element);
  }
  Value x = body.cast(drawn, bodyType(getDtype()));
  auto number = [&](const APFloat &value) { return body.constant(x.getType(), value.convertToDouble()); };
  results.push_back(body.add(number(getA()), body.mul(number(getB()), x)));
}

LogicalResult ByModeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  Type training = adaptor.getTraining().getType(), evaluation = adaptor.getEvaluation().getType();
  if (training != evaluation)
    return emitOptionalError(location, "by_mode takes ", training, " in training and ", evaluation,
                             " elsewhere; expected the same type and shape");
  types.push_back(training);
  return success();
}

LogicalResult StraightThroughOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getValue().getType() != adaptor.getAlong().getType())
    return emitOptionalError(location, "passes gradients along ", adaptor.getAlong().getType(), ", expected ",
                             adaptor.getValue().getType());
  types.push_back(adaptor.getValue().getType());
  return success();
}

LogicalResult StraightThroughOp::decompose(OpBuilder &, SmallVectorImpl<Value> &results) {
  results.push_back(getValue());
  return success();
}

LogicalResult StraightThroughOp::buildGradient(OpBuilder &, ValueRange resultGrads,
                                               SmallVectorImpl<Value> &operandGrads) {
  operandGrads.append({Value(), resultGrads[0]});
  return success();
}

bool StraightThroughOp::isDifferentiableOperand(unsigned index) { return index == 1; }
