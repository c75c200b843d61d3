// Codes of a model's file, as ONNX packs them: the first of a byte in its lowest bits.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
int64_t bytesFor(int64_t codes, int64_t bits) { return (codes * bits + 7) / 8; }

/// Row-major number of an element, of the indices that its dimensions have.
AffineExpr flatOf(ArrayRef<int64_t> shape, ArrayRef<AffineExpr> indices, MLIRContext *context) {
  AffineExpr flat = getAffineConstantExpr(0, context);
  for (auto [size, index] : llvm::zip(shape, indices))
    flat = flat * size + index;
  return flat;
}

SmallVector<AffineExpr> dimensions(unsigned rank, MLIRContext *context) {
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < rank; ++dim)
    dims.push_back(getAffineDimExpr(dim, context));
  return dims;
}

/// One code of a byte: number `flat` of them, as far as its place in the byte goes.
Value codeIn(ClusterBodyBuilder &b, Value byte, Value flat, int64_t bits, bool isSigned) {
  Type i32 = b.builder.getI32Type();
  Value wide = b.cast(byte, i32, /*fromUnsigned=*/true);
  if (bits == 8)
    return wide;
  Value within = arith::AndIOp::create(b.builder, b.loc, flat, b.constantInt(flat.getType(), 8 / bits - 1));
  Value shift = b.cast(b.mul(within, b.constantInt(flat.getType(), bits)), i32);
  Value low = arith::AndIOp::create(b.builder, b.loc,
                                    arith::ShRUIOp::create(b.builder, b.loc, wide, shift).getResult(),
                                    b.constantInt(i32, (1 << bits) - 1));
  if (!isSigned)
    return low;
  Value up = b.constantInt(i32, 32 - bits);
  return arith::ShRSIOp::create(b.builder, b.loc,
                                arith::ShLIOp::create(b.builder, b.loc, low, up).getResult(), up);
}

/// The number of an element, where only its place in a byte of `each` matters.
Value flatWithin(ClusterBodyBuilder &b, ArrayRef<int64_t> shape, ArrayRef<Value> indices, int64_t each) {
  Type i64 = b.builder.getI64Type();
  Value flat = b.constantInt(i64, 0);
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; stride *= shape[dim], --dim)
    if (stride % each != 0)
      flat = b.add(flat, b.mul(indices[dim], b.constantInt(i64, stride)));
  return flat;
}

SmallVector<Value> indicesOf(ClusterBodyBuilder &b, unsigned rank) {
  SmallVector<Value> indices;
  for (unsigned dim = 0; dim < rank; ++dim)
    indices.push_back(b.index(dim));
  return indices;
}

bool isBytes(Value codes, int64_t bytes) {
  return elementOf(codes).isUnsignedInteger(8) && rankOf(codes) == 1 && shapeOf(codes)[0] == bytes;
}
} // namespace

LogicalResult UnpackOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto result = cast<RankedTensorType>(adaptor.getWhole());
  const int64_t bits = adaptor.getBits();
  if (bits != 2 && bits != 4 && bits != 8)
    return emitOptionalError(loc, "unpacks codes of ", bits, " bits, expected 2, 4 or 8");
  if (!result.getElementType().isInteger(8) ||
      !isBytes(adaptor.getCodes(), bytesFor(result.getNumElements(), bits)))
    return emitOptionalError(loc, "unpacks ", result, " of ", adaptor.getCodes().getType(),
                             ", expected i8 or ui8 of ui8, with ", bits, " bits for each element");
  types.push_back(result);
  return success();
}

void UnpackOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  const ArrayRef<int64_t> shape = shapeOf(getResult());
  spec.domain = llvm::to_vector(shape);
  spec.reduced.assign(shape.size(), false);
  AffineExpr flat = flatOf(shape, dimensions(shape.size(), context), context);
  spec.inputMaps.push_back(
      AffineMap::get(shape.size(), 0, {flat.floorDiv(8 / static_cast<int64_t>(getBits()))}, context));
  spec.outputMaps.push_back(AffineMap::getMultiDimIdentityMap(shape.size(), context));
}

void UnpackOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  const ArrayRef<int64_t> shape = shapeOf(getResult());
  const int64_t bits = getBits();
  Value flat = flatWithin(b, shape, indicesOf(b, shape.size()), 8 / bits);
  Value code = codeIn(b, v[0], flat, bits, elementOf(getResult()).isSignlessInteger());
  results.push_back(b.cast(code, b.builder.getI8Type()));
}

int64_t DequantizeBlocksOp::getBlock() {
  return shapeOf(getResult())[getAxis()] / shapeOf(getScales())[getAxis()];
}

LogicalResult DequantizeBlocksOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                   Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto result = cast<RankedTensorType>(adaptor.getWhole());
  const tune::Format format = adaptor.getFormat();
  if (!tune::isOfOnnx(format))
    return emitOptionalError(loc, tune::stringifyFormat(format), " is no format of ONNX");
  const int64_t bits = tune::bitsOf(format), axis = adaptor.getAxis();
  Value scales = adaptor.getScales(), points = adaptor.getZeroPoints();
  if (result.getRank() != 2 || !result.getElementType().isF32() || axis < 0 || axis > 1 ||
      !isBytes(adaptor.getCodes(), bytesFor(result.getNumElements(), bits)))
    return emitOptionalError(loc, "makes ", result, " of ", adaptor.getCodes().getType(),
                             ", expected an f32 matrix of ui8, with ", bits, " bits for each element");
  if (rankOf(scales) != 2 || !elementOf(scales).isF32() ||
      shapeOf(scales)[1 - axis] != result.getDimSize(1 - axis) || shapeOf(scales)[axis] == 0 ||
      result.getDimSize(axis) % shapeOf(scales)[axis] != 0)
    return emitOptionalError(loc, "scales ", result, " along axis ", axis, " by ", scales.getType(),
                             ", expected f32 with a number for each of blocks of equal length");
  const int64_t pitch = adaptor.getZeroPitch();
  if (points && (pitch < shapeOf(scales)[1] || !isBytes(points, bytesFor(shapeOf(scales)[0] * pitch, bits))))
    return emitOptionalError(loc, "has zero points ", points.getType(), ", expected ui8 with ", bits,
                             " bits for each of rows of ", pitch);
  types.push_back(result);
  return success();
}

void DequantizeBlocksOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  const ArrayRef<int64_t> shape = shapeOf(getResult());
  const int64_t each = 8 / tune::bitsOf(getFormat()), axis = getAxis();
  spec.domain = llvm::to_vector(shape);
  spec.reduced.assign(2, false);
  SmallVector<AffineExpr> dims = dimensions(2, context), blocks = dims;
  blocks[axis] = dims[axis].floorDiv(getBlock());
  spec.inputMaps.push_back(AffineMap::get(2, 0, {flatOf(shape, dims, context).floorDiv(each)}, context));
  spec.inputMaps.push_back(AffineMap::get(2, 0, blocks, context));
  if (getZeroPoints()) {
    const int64_t rows[] = {shapeOf(getScales())[0], static_cast<int64_t>(getZeroPitch())};
    spec.inputMaps.push_back(AffineMap::get(2, 0, {flatOf(rows, blocks, context).floorDiv(each)}, context));
  }
  spec.outputMaps.push_back(AffineMap::getMultiDimIdentityMap(2, context));
}

void DequantizeBlocksOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                          SmallVectorImpl<Value> &results) {
  Type i64 = b.builder.getI64Type(), i32 = b.builder.getI32Type();
  const int64_t bits = tune::bitsOf(getFormat()), each = 8 / bits, axis = getAxis();
  const bool isSigned = getFormat() == tune::Format::Int4;
  SmallVector<Value> indices = indicesOf(b, 2);
  Value code = codeIn(b, v[0], flatWithin(b, shapeOf(getResult()), indices, each), bits, isSigned);
  Value zero = b.constantInt(i32, getZero());
  if (getZeroPoints()) {
    indices[axis] =
        arith::DivUIOp::create(b.builder, b.loc, indices[axis], b.constantInt(i64, getBlock())).getResult();
    const int64_t rows[] = {shapeOf(getScales())[0], static_cast<int64_t>(getZeroPitch())};
    zero = codeIn(b, v[2], flatWithin(b, rows, indices, each), bits, isSigned);
  }
  Value difference = arith::SubIOp::create(b.builder, b.loc, code, zero);
  results.push_back(b.mul(b.cast(difference, b.builder.getF32Type()), v[1]));
}
