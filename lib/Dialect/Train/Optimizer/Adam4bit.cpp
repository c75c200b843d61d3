// Adam on moments of 4 bits: each block of 128 elements with its largest magnitude.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "lib/Dialect/Train/Optimizer/TableLookup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include <array>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
using Compare = ClusterBodyBuilder::Compare;
using Map = std::array<float, 16>;

/// The dynamic map of 4 bits with a sign: middles of 1, 2 and 4 cells of the decades up to 0.01, 0.1 and 1,
/// their negatives, 0 and 1. As torchao computes them, in f32 within a decade.
constexpr Map kSignedMap = {-0.8875f, -0.6625f, -0.4375f, -0.2125f, -0.0775f, -0.0325f, -0.0055f, 0.0f,
                            0.0055f,  0.0325f,  0.0775f,  0.2125f,  0.4375f,  0.6625f,  0.8875f,  1.0f};

/// The least number that torchao gives code `code` + 1 rather than `code`: the residual is half of the cell's
/// width or more, both rounded to f32.
float borderAbove(int code) {
  const float below = kSignedMap[code], half = (kSignedMap[code + 1] - below) * 0.5f;
  float border = below + half;
  while (border - below >= half)
    border = std::nextafter(border, -2.0f);
  while (border - below < half)
    border = std::nextafter(border, 2.0f);
  return border;
}

/// A moment of one block.
class Nibbles {
public:
  Nibbles(ClusterBodyBuilder &b, bool isSigned) : b(b), isSigned(isSigned) {}

  /// Of an element of half 0 or 1 of the block.
  Value decode(Value byte, Value half, Value absmax) {
    Value wide = b.cast(byte, i32, /*fromUnsigned=*/true), isSecond = b.cast(half, i32);
    Value shift = b.sub(integer(4), b.mul(isSecond, integer(4)));
    Value code = arith::AndIOp::create(b.builder, b.loc,
                                       arith::ShRUIOp::create(b.builder, b.loc, wide, shift), integer(15));
    Value value = isSigned ? lookUp(b, code, kSignedMap)
                           : b.mul(b.cast(b.add(code, integer(1)), f32), number(1.0 / 16));
    return b.mul(value, absmax);
  }

  struct Encoded {
    Value code, absmax;
  };
  Encoded encode(Value value) {
    Value absmax = b.max(b.abs(value));
    absmax = b.select(b.compare(Compare::LT, absmax, number(kLeast)), number(kLeast), absmax);
    Value share = b.div(value, absmax);
    return {b.cast(isSigned ? signedCode(share) : unsignedCode(share), b.builder.getI8Type()), absmax};
  }

private:
  static constexpr double kLeast = 1e-12;
  Value integer(int64_t value) { return b.constantInt(i32, value); }
  Value number(double value) { return b.constant(f32, value); }

  /// By one border after the other, as bits of the code from the highest.
  Value signedCode(Value share) {
    Value code = integer(0);
    for (int step = 8; step > 0; step /= 2) {
      SmallVector<float> borders; // by the bits that are known
      for (int from = 0; from < 16; from += 2 * step)
        borders.push_back(borderAbove(from + step - 1));
      Value isAbove = b.compare(Compare::GE, share, lookUp(b, code, borders));
      code = b.add(b.add(code, code), b.select(isAbove, integer(1), integer(0)));
    }
    return code;
  }

  /// (code + 1) / 16, the nearest, the upper of two.
  Value unsignedCode(Value share) {
    Value steps = b.mul(share, number(16)), whole = b.floor(steps);
    Value isHalf = b.compare(Compare::GE, b.sub(steps, whole), number(0.5));
    Value nearest = b.select(isHalf, whole, b.sub(whole, number(1)));
    nearest = b.select(b.compare(Compare::GT, nearest, number(0)), nearest,
                       number(0)); // a number also of what is none
    nearest = b.select(b.compare(Compare::LT, nearest, number(15)), nearest, number(15));
    return b.cast(nearest, i32);
  }

  ClusterBodyBuilder &b;
  const bool isSigned;
  const Type i32 = b.builder.getI32Type(), f32 = b.builder.getF32Type();
};
} // namespace

LogicalResult Adam4bitOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto param = cast<RankedTensorType>(adaptor.getParam().getType());
  if (param.getRank() != 3 || param.getDimSize(1) != 2)
    return emitOptionalError(loc, "has a parameter ", param, ", expected [blocks, 2, n]");
  auto codes = param.clone(IntegerType::get(context, 8, IntegerType::Unsigned));
  types.append({param, codes, adaptor.getAbsmax1().getType(), codes, adaptor.getAbsmax2().getType()});
  return success();
}

void Adam4bitOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  spec.domain = llvm::to_vector(shapeOf(getParam()));
  spec.reduced = {false, true, true};
  AffineExpr block = getAffineDimExpr(0, context), place = getAffineDimExpr(2, context);
  AffineMap whole = AffineMap::getMultiDimIdentityMap(3, context);
  AffineMap bytes = AffineMap::get(3, 0, {block, place}, context),
            blocks = AffineMap::get(3, 0, {block}, context);
  spec.inputMaps = {whole, bytes, blocks, bytes, blocks, whole};
  spec.inputMaps.append(getNumOperands() - spec.inputMaps.size(), AffineMap::get(3, 0, {}, context));
  spec.outputMaps = {whole, whole, blocks, whole, blocks};
}

void Adam4bitOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Nibbles withSign(b, true), without(b, false);
  Value half = b.index(1);
  SmallVector<Value> operands = {v[0], withSign.decode(v[1], half, v[2]), without.decode(v[3], half, v[4])};
  llvm::append_range(operands, v.drop_front(5));
  SmallVector<Value> updated;
  (getDecoupled() ? adamWBody : adamBody)(b, operands, {getDecay(), getLrScale().convertToDouble()}, updated);
  const auto moment1 = withSign.encode(updated[1]), moment2 = without.encode(updated[2]);
  results.append({updated[0], moment1.code, moment1.absmax, moment2.code, moment2.absmax});
}

LogicalResult PackNibblesOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  auto codes = cast<RankedTensorType>(adaptor.getHigh().getType());
  if (codes.getRank() != 3 || codes.getDimSize(1) != 2 || !codes.getElementType().isUnsignedInteger(8) ||
      adaptor.getLow().getType() != codes)
    return emitOptionalError(loc, "packs ", codes, " and ", adaptor.getLow().getType(),
                             ", expected [blocks, 2, n] of ui8 twice");
  types.push_back(codes.clone({codes.getDimSize(0), codes.getDimSize(2)}));
  return success();
}

void PackNibblesOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  spec.domain = llvm::to_vector(shapeOf(getBytes()));
  spec.reduced = {false, false};
  AffineExpr block = getAffineDimExpr(0, context), place = getAffineDimExpr(1, context);
  for (int64_t half : {0, 1})
    spec.inputMaps.push_back(
        AffineMap::get(2, 0, {block, getAffineConstantExpr(half, context), place}, context));
  spec.outputMaps = {AffineMap::getMultiDimIdentityMap(2, context)};
}

void PackNibblesOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value high = arith::ShLIOp::create(b.builder, b.loc, v[0], b.constantInt(v[0].getType(), 4));
  results.push_back(arith::OrIOp::create(b.builder, b.loc, high, v[1]));
}
