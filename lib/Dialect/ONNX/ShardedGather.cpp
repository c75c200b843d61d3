#include "lib/Dialect/ONNX/ShardedGather.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::onnx {

Value number(LocalBuilder &local, Type element, int64_t value) {
  auto type = RankedTensorType::get({}, element);
  if (isa<FloatType>(element))
    return ConstantOp::create(
        local.builder, local.loc,
        DenseElementsAttr::get(type, local.builder.getFloatAttr(element, static_cast<double>(value))));
  return ConstantOp::create(
      local.builder, local.loc,
      DenseElementsAttr::get(type, Attribute(local.builder.getIntegerAttr(element, value))));
}

OwnIndices::OwnIndices(LocalBuilder &local, Value given, int64_t rows) {
  OpBuilder &b = local.builder;
  const Type i64 = b.getI64Type();
  const int64_t room = local.cut.room(rows, local.ranks);
  Value zero = number(local, i64, 0);
  Value index = elementOf(given) == i64 ? given : CastOp::create(b, local.loc, given, i64).getResult();
  Value fromEnd = AddOp::create(b, local.loc, index, number(local, i64, rows));
  index = WhereOp::create(b, local.loc, LessOp::create(b, local.loc, index, zero), fromEnd, index);
  Value offset = ReshapeOp::create(b, local.loc, local.offset(room), ArrayRef<int64_t>{});
  Value own = SubOp::create(b, local.loc, index, offset);
  Value before = LessOp::create(b, local.loc, own, zero);
  Value behind = LessOp::create(b, local.loc, number(local, i64, room - 1), own);
  isOwn = NotOp::create(b, local.loc, OrOp::create(b, local.loc, before, behind));
  indices = WhereOp::create(b, local.loc, isOwn, own, zero);
}

Value orZero(LocalBuilder &local, Value condition, Value x) {
  return WhereOp::create(local.builder, local.loc, condition, x, number(local, elementOf(x), 0));
}

Value withTrailingDims(LocalBuilder &local, Value values, int64_t count) {
  SmallVector<int64_t> shape(shapeOf(values));
  shape.append(count, 1);
  return ReshapeOp::create(local.builder, local.loc, values, shape);
}

} // namespace kedge::onnx
