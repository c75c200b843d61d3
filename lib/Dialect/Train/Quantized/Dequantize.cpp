// Weights in few bits, as values again.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "lib/Dialect/Train/Optimizer/TableLookup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// By code; bitsandbytes' tables.
constexpr float kNF4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};
constexpr float kFP4[16] = {0.0f,
                            0.0052083334885537624f,
                            0.6666666865348816f,
                            1.0f,
                            0.3333333432674408f,
                            0.5f,
                            0.1666666716337204f,
                            0.25f,
                            -0.0f,
                            -0.0052083334885537624f,
                            -0.6666666865348816f,
                            -1.0f,
                            -0.3333333432674408f,
                            -0.5f,
                            -0.1666666716337204f,
                            -0.25f};

/// Row-major number of the element of `shape` that the domain is at.
AffineExpr flatIndex(MLIRContext *context, ArrayRef<int64_t> shape) {
  AffineExpr flat = getAffineConstantExpr(0, context);
  for (auto [dim, size] : llvm::enumerate(shape))
    flat = flat * size + getAffineDimExpr(dim, context);
  return flat;
}

void describeFlat(RankedTensorType result, ArrayRef<int64_t> divisors, ClusterSpec &spec) {
  MLIRContext *context = result.getContext();
  unsigned rank = result.getRank();
  spec.domain = llvm::to_vector(result.getShape());
  spec.reduced.assign(rank, false);
  AffineExpr flat = flatIndex(context, result.getShape());
  for (int64_t divisor : divisors)
    spec.inputMaps.push_back(
        AffineMap::get(rank, 0, {divisor == 1 ? flat : flat.floorDiv(divisor)}, context));
  spec.outputMaps.push_back(AffineMap::getMultiDimIdentityMap(rank, context));
}
} // namespace

LogicalResult DequantizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto result = cast<RankedTensorType>(adaptor.getWhole());
  int64_t elements = result.getNumElements(), block = adaptor.getBlock();
  auto has = [](Value v, int64_t size) { return rankOf(v) == 1 && shapeOf(v)[0] == size; };
  if (adaptor.getFormat() != tune::Format::NF4 && adaptor.getFormat() != tune::Format::FP4)
    return emitOptionalError(loc, tune::stringifyFormat(adaptor.getFormat()),
                             " has no table: expected nf4 or fp4");
  if (!result.getElementType().isF32() || !elementOf(adaptor.getCodes()).isUnsignedInteger(8) || block < 2 ||
      block % 2 != 0)
    return emitOptionalError(loc, "makes ", result, " of codes of ", adaptor.getCodes().getType(),
                             " in blocks of ", block, ", expected f32 of ui8 in blocks of an even size");
  if (!has(adaptor.getCodes(), (elements + 1) / 2) ||
      !has(adaptor.getAbsmax(), (elements + block - 1) / block))
    return emitOptionalError(loc, "makes ", result, " of codes of ", adaptor.getCodes().getType(), " and ",
                             adaptor.getAbsmax().getType(),
                             ", which is not half a byte for each element and a number for ", block);
  types.push_back(result);
  return success();
}

void DequantizeOp::describeCluster(ClusterSpec &spec) {
  describeFlat(cast<RankedTensorType>(getResult().getType()), {2, static_cast<int64_t>(getBlock())}, spec);
}

void DequantizeOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type i64 = b.builder.getI64Type(), i32 = b.builder.getI32Type();
  // Only whether the number is even matters, which the last dims decide.
  ArrayRef<int64_t> shape = shapeOf(getResult());
  Value flat = b.constantInt(i64, 0);
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; stride *= shape[dim], --dim)
    if (stride % 2 != 0)
      flat = b.add(flat, b.mul(b.index(dim), b.constantInt(i64, stride)));
  Value odd = arith::AndIOp::create(b.builder, b.loc, flat, b.constantInt(i64, 1));
  Value isOdd = b.compare(ClusterBodyBuilder::Compare::NE, odd, b.constantInt(i64, 0));
  Value byte = b.cast(v[0], i32, /*fromUnsigned=*/true);
  Value high = arith::ShRUIOp::create(b.builder, b.loc, byte, b.constantInt(i32, 4));
  Value code = b.select(isOdd, byte, high);
  results.push_back(
      b.mul(lookUp(b, code, getFormat() == tune::Format::NF4 ? ArrayRef(kNF4) : ArrayRef(kFP4)), v[1]));
}

LogicalResult ScaleBlocksOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  int64_t block = adaptor.getBlock();
  if (block < 1 || rankOf(adaptor.getX()) != 1 || rankOf(adaptor.getScales()) != 1 ||
      shapeOf(adaptor.getScales())[0] != (shapeOf(adaptor.getX())[0] + block - 1) / block)
    return emitOptionalError(loc, "scales ", adaptor.getX().getType(), " in blocks of ", block, " by ",
                             adaptor.getScales().getType(),
                             ", expected vectors with a number for each block");
  types.push_back(adaptor.getX().getType());
  return success();
}

void ScaleBlocksOp::describeCluster(ClusterSpec &spec) {
  describeFlat(cast<RankedTensorType>(getResult().getType()), {1, static_cast<int64_t>(getBlock())}, spec);
}

void ScaleBlocksOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  results.push_back(b.mul(v[0], v[1]));
}
