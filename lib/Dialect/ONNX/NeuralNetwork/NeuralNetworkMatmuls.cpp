// MatMul and Gemm: shapes and gradients.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
/// Rows and columns of an operand of rank >= 2.
std::pair<int64_t, int64_t> matrixDims(ArrayRef<int64_t> shape, bool transposed) {
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

Value reshapeTo(OpBuilder &builder, Location loc, Value v, ArrayRef<int64_t> shape) {
  return shapeOf(v) == shape ? v
                             : Value(ReshapeOp::create(builder, loc, v, builder.getDenseI64ArrayAttr(shape)));
}

/// All but the last dim as rows.
Value asMatrix(OpBuilder &builder, Location loc, Value v) {
  int64_t columns = shapeOf(v).back(), rows = 1;
  for (int64_t size : shapeOf(v).drop_back())
    rows *= size;
  return reshapeTo(builder, loc, v, {rows, columns});
}

/// numpy.matmul's shape; operands of rank 1 are a row (A) or a column (B) whose dim is dropped afterwards.
LogicalResult inferMatmul(std::optional<Location> loc, Value a, Value b, bool transA, bool transB,
                          Type element, SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> left(shapeOf(a)), right(shapeOf(b));
  bool dropRow = left.size() == 1, dropColumn = right.size() == 1;
  if (left.empty() || right.empty() || (dropRow && transA) || (dropColumn && transB))
    return emitOptionalError(loc, "cannot multiply ", a.getType(), " by ", b.getType());
  if (dropRow)
    left.insert(left.begin(), 1);
  if (dropColumn)
    right.push_back(1);
  auto [rows, inner] = matrixDims(left, transA);
  auto [innerB, columns] = matrixDims(right, transB);
  if (inner != innerB)
    return emitOptionalError(loc, "cannot multiply ", a.getType(), transA ? " transposed" : "", " by ",
                             b.getType(), transB ? " transposed" : "", ": ", inner, " columns meet ", innerB,
                             " rows");
  auto batch = broadcastShapes(loc, {ArrayRef(left).drop_back(2), ArrayRef(right).drop_back(2)});
  if (failed(batch))
    return failure();
  if (!dropRow)
    batch->push_back(rows);
  if (!dropColumn)
    batch->push_back(columns);
  types.push_back(RankedTensorType::get(*batch, element));
  return success();
}

/// A product that `forward`'s gradient consists of: when that one is to be of 8-bit floats, it is so, too,
/// its gradient operand with more exponents and fewer digits.
template <typename Op> Value roundedAs(Operation *forward, Op product, Value gradient) {
  if (!forward->hasAttr(train::kFloat8))
    return product;
  Builder b(forward->getContext());
  auto typeOf = [&](Value operand) -> Type {
    return operand == gradient ? Type(Float8E5M2Type::get(b.getContext()))
                               : Float8E4M3FNType::get(b.getContext());
  };
  product->setAttr(train::kFloat8, b.getTypeArrayAttr({typeOf(product.getA()), typeOf(product.getB())}));
  return product;
}

/// Gradients of a product of operands of rank >= 2.
std::pair<Value, Value> matrixGradients(OpBuilder &builder, MatMulOp forward, Value a, Value b, Value dY) {
  Location loc = forward.getLoc();
  const bool transA = forward.getTransA(), transB = forward.getTransB();
  auto product = [&](Value left, Value right, bool transLeft, bool transRight) {
    return roundedAs(forward, MatMulOp::create(builder, loc, left, right, transLeft, transRight), dY);
  };
  Value dA = transA ? product(b, dY, transB, true) : product(dY, b, false, !transB);
  // A weight shared by all rows: one product over all of them.
  if (rankOf(b) == 2 && rankOf(a) > 2 && !transA) {
    a = asMatrix(builder, loc, a);
    dY = asMatrix(builder, loc, dY);
  }
  Value dB = transB ? product(dY, a, true, transA) : product(a, dY, !transA, false);
  return {dA, dB};
}
} // namespace

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  return inferMatmul(loc, adaptor.getA(), adaptor.getB(), adaptor.getTransA(), adaptor.getTransB(),
                     elementOf(adaptor.getA()), types);
}

LogicalResult MatMulOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  Value a = getA(), b = getB(), dY = resultGrads[0];
  SmallVector<int64_t> yShape(shapeOf(dY));
  if (rankOf(b) == 1) {
    b = reshapeTo(builder, getLoc(), b, {shapeOf(b)[0], 1});
    yShape.push_back(1);
  }
  if (rankOf(a) == 1) {
    a = reshapeTo(builder, getLoc(), a, {1, shapeOf(a)[0]});
    yShape.insert(yShape.end() - 1, 1);
  }
  dY = reshapeTo(builder, getLoc(), dY, yShape);
  auto [dA, dB] = matrixGradients(builder, *this, a, b, dY);
  dA = reduceTo(builder, getLoc(), dA, a);
  dB = reduceTo(builder, getLoc(), dB, b);
  operandGrads.push_back(reshapeTo(builder, getLoc(), dA, shapeOf(getA())));
  operandGrads.push_back(reshapeTo(builder, getLoc(), dB, shapeOf(getB())));
  return success();
}

/// cuBLASLt adds a C as large as the result where it lies (C = D). One row of it would be a bias, which is
/// read for all rows. CPUs' products round their sums before they read C, but not wide ones.
int GemmOp::addendInPlace(DictionaryAttr attrs, TypeRange operands, bool onGpu) {
  if (operands.size() != 3 || !(onGpu || attrs.contains("wide")))
    return -1;
  auto type = cast<RankedTensorType>(operands[2]);
  return type.getRank() > 0 && type.getNumElements() > type.getShape().back() ? 2 : -1;
}

LogicalResult GemmOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  Value a = adaptor.getA(), b = adaptor.getB();
  if (rankOf(b) != 2 || rankOf(a) < 2 || (adaptor.getTransA() && rankOf(a) != 2))
    return emitOptionalError(loc, "Gemm multiplies matrices, found ", a.getType(), " and ", b.getType());
  const bool wide = adaptor.getWide().value_or(false);
  Type element = wide ? Float32Type::get(a.getContext()) : elementOf(a);
  if (failed(inferMatmul(loc, a, b, adaptor.getTransA(), adaptor.getTransB(), element, types)))
    return failure();
  if (wide && !(elementOf(a).isBF16() || elementOf(a).isF16()))
    return emitOptionalError(loc, "wide sums are of 16-bit matrices, found ", a.getType());
  if (Value c = adaptor.getC()) {
    auto shape = cast<RankedTensorType>(types[0]).getShape();
    if (wide && c.getType() != types[0])
      return emitOptionalError(loc, "wide sums add to a C of ", types[0], ", found ", c.getType());
    auto broadcast = broadcastShapes(loc, {shape, shapeOf(c)});
    if (failed(broadcast) || ArrayRef<int64_t>(*broadcast) != shape)
      return emitOptionalError(loc, "C ", c.getType(), " does not broadcast to ", types[0]);
  }
  return success();
}

LogicalResult GemmOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  Value a = getA(), b = getB(), dY = resultGrads[0];
  float alpha = getAlpha().convertToFloat(), beta = getBeta().convertToFloat();
  Value gradient = dY;
  auto product = [&](Value left, Value right, bool transLeft, bool transRight) {
    auto made = GemmOp::create(builder, getLoc(), left, right, Value(), transLeft, transRight, APFloat(alpha),
                               APFloat(1.0f));
    return roundedAs(*this, made, gradient);
  };
  Value dA = getTransA() ? product(b, dY, getTransB(), true) : product(dY, b, false, !getTransB());
  Value rows = asMatrix(builder, getLoc(), a), dRows = asMatrix(builder, getLoc(), dY);
  gradient = dRows;
  Value dB =
      getTransB() ? product(dRows, rows, true, getTransA()) : product(rows, dRows, !getTransA(), false);
  operandGrads.append({dA, dB});
  if (getC()) {
    Value scaled = beta == 1.0f
                       ? dY
                       : Value(MulOp::create(builder, getLoc(), dY, scalarLike(builder, getLoc(), dY, beta)));
    operandGrads.push_back(reduceTo(builder, getLoc(), scaled, getC()));
  }
  return success();
}
