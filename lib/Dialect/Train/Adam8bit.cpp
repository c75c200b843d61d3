// Adam on moments in 8-bit dynamic codes: each block of 256 elements with its largest magnitude.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/MoreOptimizerOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
using Compare = ClusterBodyBuilder::Compare;

/// The dynamic map by arithmetic. Magnitude number j >= 1 lies in decade e = log2(j) (of `shift` more items a decade without a
/// sign): 10^(e-6) times the middle of the cell j - 2^e of 2^e cells from 0.1 to 1. Number 0 is zero, the last is one.
struct DynamicMap {
  ClusterBodyBuilder &b;
  bool isSigned;
  Type i32 = b.builder.getI32Type(), f32 = b.builder.getF32Type();

  Value integer(int64_t value) { return b.constantInt(i32, value); }
  Value number(double value) { return b.constant(f32, value); }
  Value shiftLeft(Value a, Value by) { return arith::ShLIOp::create(b.builder, b.loc, a, by); }

  /// 10^(e-6), e from 0 to 6.
  Value powerOfTen(Value e) {
    Value power = number(1);
    static constexpr float powers[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f};
    for (int k = 5; k >= 0; --k)
      power = b.select(b.compare(Compare::LE, e, integer(k)), number(powers[k]), power);
    return power;
  }

  /// Codes without a sign have twice the cells a decade, and number them from 1: j + 1 is as the others' j with one bit more.
  Value decadeOf(Value j) {
    Value counted = isSigned ? j : b.add(j, integer(1));
    Value bits = arith::BitcastOp::create(b.builder, b.loc, i32, b.cast(counted, f32));
    Value e = b.sub(arith::ShRUIOp::create(b.builder, b.loc, bits, integer(23)), integer(127));
    return isSigned ? e : b.sub(e, integer(1));
  }

  Value cellsOf(Value e) { return shiftLeft(integer(isSigned ? 1 : 2), e); }
  Value firstOf(Value cells) { return isSigned ? cells : b.sub(cells, integer(1)); }
  int64_t last() const { return isSigned ? 128 : 255; }

  /// The value of magnitude number j, from 0 to last().
  Value valueOf(Value j) {
    Value inside = b.maximum(b.minimum(j, integer(last() - 1)), integer(1));
    Value e = decadeOf(inside), cells = cellsOf(e);
    Value cell = b.cast(b.sub(inside, firstOf(cells)), f32), step = b.div(number(0.9), b.cast(cells, f32));
    Value value = b.mul(powerOfTen(e), b.add(number(0.1), b.mul(b.add(cell, number(0.5)), step)));
    value = b.select(b.compare(Compare::EQ, j, integer(0)), number(0), value);
    return b.select(b.compare(Compare::EQ, j, integer(last())), number(1), value);
  }

  /// The number whose value is nearest to x from 0 to 1: that of x's cell or a neighbour.
  Value nearest(Value x) {
    Value e = integer(0);
    static constexpr float borders[] = {1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f};
    for (float border : borders)
      e = b.add(e, b.cast(b.compare(Compare::GE, x, number(border)), i32, /*fromUnsigned=*/true));
    Value cells = cellsOf(e);
    Value at = b.div(b.sub(b.div(x, powerOfTen(e)), number(0.1)), b.div(number(0.9), b.cast(cells, f32)));
    Value cell = b.cast(b.floor(at), i32);
    cell = b.maximum(integer(0), b.minimum(cell, b.sub(cells, integer(1))));
    Value j = b.add(firstOf(cells), cell);
    Value below = b.maximum(integer(0), b.sub(j, integer(1))), above = b.minimum(integer(last()), b.add(j, integer(1)));
    return nearer(x, nearer(x, below, j), above);
  }

  Value nearer(Value x, Value a, Value c) {
    Value toA = b.abs(b.sub(valueOf(a), x)), toC = b.abs(b.sub(valueOf(c), x));
    return b.select(b.compare(Compare::LT, toC, toA), c, a);
  }

  Value decode(Value code) {
    Value wide = b.cast(code, i32, /*fromUnsigned=*/true);
    if (!isSigned)
      return valueOf(wide);
    Value j = b.sub(wide, integer(127)), negative = b.compare(Compare::LT, j, integer(0));
    Value magnitude = valueOf(b.select(negative, b.sub(integer(0), j), j));
    return b.select(negative, b.neg(magnitude), magnitude);
  }

  /// Of a block's element; bitsandbytes rounds to one of 65536 steps first. A block of zeros has the code 0.
  Value encode(Value value, Value absmax) {
    Value isZero = b.compare(Compare::EQ, absmax, number(0));
    Value inverse = b.div(number(1), b.select(isZero, number(1), absmax));
    Value scaled = b.mul(value, inverse);
    Value step = b.floor(b.add(b.mul(b.add(scaled, number(1)), number(32767.5)), number(0.5)));
    Value x = b.add(number(-1), b.mul(step, number(2.0f / 65535)));
    Value j = nearest(b.minimum(b.abs(x), number(1)));
    if (isSigned) {
      Value negative = b.compare(Compare::LT, x, number(0));
      // There is no code for -1.
      j = b.add(integer(127), b.select(negative, b.sub(integer(0), b.minimum(j, integer(127))), j));
    }
    Value code = b.select(isZero, integer(0), j);
    return b.cast(code, b.builder.getI8Type());
  }
};
} // namespace

void Adam8bitOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  spec.domain = llvm::to_vector(shapeOf(getParam()));
  spec.reduced = {false, true};
  AffineMap whole = AffineMap::getMultiDimIdentityMap(2, context);
  AffineMap block = AffineMap::get(2, 0, {getAffineDimExpr(0, context)}, context);
  AffineMap scalar = AffineMap::get(2, 0, {}, context);
  spec.inputMaps = {whole, whole, block, whole, block, whole};
  spec.inputMaps.append(getNumOperands() - spec.inputMaps.size(), scalar);
  spec.outputMaps = {whole, whole, block, whole, block};
}

void Adam8bitOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  DynamicMap withSign{b, true}, without{b, false};
  const double lrScale = getLrScale().convertToDouble();
  auto scaled = [&](Value x) { return lrScale == 1.0 ? x : b.mul(x, b.constant(x.getType(), lrScale)); };
  Value param = v[0], gradient = b.mul(v[5], v[6]);
  Value moment1 = b.mul(withSign.decode(v[1]), v[2]), moment2 = b.mul(without.decode(v[3]), v[4]);
  moment1 = b.add(b.mul(v[9], moment1), b.mul(v[10], gradient));
  moment2 = b.add(b.mul(v[11], moment2), b.mul(b.mul(v[12], gradient), gradient));
  Value step = b.mul(scaled(v[8]), b.div(moment1, b.add(b.div(b.sqrt(moment2), v[13]), v[14])));
  if (getDecay())
    step = b.add(b.mul(scaled(v[7]), param), step);
  Value absmax1 = b.max(b.abs(moment1)), absmax2 = b.max(b.abs(moment2));
  results.append({b.sub(param, step), withSign.encode(moment1, absmax1), absmax1, without.encode(moment2, absmax2), absmax2});
}
