// Adam on moments in 8-bit dynamic codes: each block of 256 elements with its largest magnitude.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "lib/Dialect/Train/Optimizer/TableLookup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/bit.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
using Compare = ClusterBodyBuilder::Compare;

/// bitsandbytes' dynamic map. Between 0, number 0, and 1, the last, magnitudes lie in seven decades: those of
/// decade e from 10^(e-7) to 10^(e-6) are the middles of 2^e equal cells, of twice as many where no bit is
/// lost to a sign. Both ways look numbers of a decade up in tables by the exponent of a float: nothing is
/// divided and nothing is searched.
struct DynamicMap {
  ClusterBodyBuilder &b;
  bool isSigned;
  Type i32 = b.builder.getI32Type(), f32 = b.builder.getF32Type();

  using Table = std::array<float, 16>;
  static constexpr int kDecades = 7;
  static constexpr double kSteps = 65535; ///< bitsandbytes rounds to one of these from -1 to 1 first

  Value integer(int64_t value) { return b.constantInt(i32, value); }
  Value number(double value) { return b.constant(f32, value); }
  Value bitsOf(Value x) { return arith::BitcastOp::create(b.builder, b.loc, i32, x); }
  Value floatOf(Value bits) { return arith::BitcastOp::create(b.builder, b.loc, f32, bits); }
  Value bitAnd(Value x, int64_t mask) { return arith::AndIOp::create(b.builder, b.loc, x, integer(mask)); }
  /// The exponent of a float's bits, one less in its low four bits.
  Value exponentOf(Value bits) { return arith::ShRUIOp::create(b.builder, b.loc, bits, integer(23)); }
  static int placeOfExponent(int exponent) { return (exponent + 127) & 15; }

  static double topOf(int decade) { return std::pow(10.0, decade - 6); }
  double cellsOf(int decade) const { return isSigned ? 1 << decade : 2 << decade; }
  /// The number of a decade's first value.
  double firstOf(int decade) const { return isSigned ? cellsOf(decade) : cellsOf(decade) - 1; }
  int64_t last() const { return isSigned ? 128 : 255; }

  Value signOf(Value bits) { return bitAnd(bits, int32_t(0x80000000)); }
  Value withSign(Value x, Value sign) {
    return floatOf(arith::OrIOp::create(b.builder, b.loc, bitsOf(x), sign));
  }

  /// The value of code: 2 j + 1 of magnitude number j is a power of two by the decade, times 1 and the place
  /// of the cell's middle between 0 and 1. Numbers without a sign are one behind.
  Value decode(Value code) {
    Value asNumber = b.cast(b.cast(code, i32, /*fromUnsigned=*/true), f32);
    Value twice = b.fma(asNumber, number(2), number(isSigned ? -254 : 3));
    Value counted = isSigned ? b.add(b.abs(twice), number(1)) : twice;
    Value bits = bitsOf(counted), exponent = exponentOf(bits);
    Value fraction = arith::OrIOp::create(b.builder, b.loc, bitAnd(bits, 0x7fffff), integer(0x3f800000));
    Value middle = b.sub(floatOf(fraction), number(1));
    Table width, low;
    width.fill(0);
    low.fill(1); // of the last
    const int zero = isSigned ? 0 : 1;
    low[placeOfExponent(zero)] = 0;
    for (int decade = 0; decade < kDecades; ++decade) {
      width[placeOfExponent(zero + 1 + decade)] = static_cast<float>(0.9 * topOf(decade));
      low[placeOfExponent(zero + 1 + decade)] = static_cast<float>(0.1 * topOf(decade));
    }
    Value value = b.fma(lookUp(b, exponent, width), middle, lookUp(b, exponent, low));
    return isSigned ? withSign(value, signOf(bitsOf(twice))) : value;
  }

  /// Where values are nearer to a number of the next decade, or to 1, in steps from 0.
  double borderOf(int decade) const {
    double next = decade + 1 < kDecades ? 0.1 + 0.45 / cellsOf(decade + 1) : 0.1;
    return kSteps * topOf(decade) * (1 - 0.45 / cellsOf(decade) + 10 * next) / 2;
  }
  int decadeOf(double steps) const {
    int decade = 0;
    while (decade < kDecades && steps >= borderOf(decade))
      ++decade;
    return decade;
  }

  /// Number = min(first + cell), with cell = factor z + offset, of z = steps + 1: an even number from 2 to
  /// 65536. Of those with one exponent some lie in the next decade, from a border on: what is added to their
  /// bits carries into the exponent, so that they look where the next exponent does, which is theirs.
  struct EncodeTables {
    Table carry, factor, offset, most;
  };
  /// As the bits of a float: what takes the bits of numbers from `border` on, and of none below, into the
  /// next exponent.
  static float carryAt(float border) {
    return llvm::bit_cast<float>(0x800000 - (llvm::bit_cast<uint32_t>(border) & 0x7fffff));
  }
  EncodeTables encodeTables() const {
    EncodeTables t;
    t.carry.fill(0);
    t.factor.fill(0);
    t.offset.fill(last());
    t.most.fill(last());
    for (int exponent = 1; exponent < 16; ++exponent) {
      const double from = std::ldexp(1, exponent) - 1, to = std::ldexp(1, exponent + 1) - 3;
      const int decade = decadeOf(from), place = placeOfExponent(exponent);
      if (decade != decadeOf(to))
        t.carry[place] = carryAt(static_cast<float>(borderOf(decade) + 1));
      const double cells = cellsOf(decade), factor = cells / (0.9 * topOf(decade) * kSteps);
      // What lies in the middle between two, within rounding, belongs to the lower one: so all steps have
      // bitsandbytes' codes.
      constexpr double kTie = 4e-5;
      t.factor[place] = static_cast<float>(factor);
      t.offset[place] = static_cast<float>(firstOf(decade) - cells / 9 - factor - kTie);
      t.most[place] = static_cast<float>(firstOf(decade) + cells - 1);
    }
    return t;
  }

  Value least(Value x, Value y) { return b.select(b.compare(Compare::LT, x, y), x, y); }

  /// Of a block's element. A block of zeros has the code 0.
  Value encode(Value value, Value absmax) {
    Value isZero = b.compare(Compare::EQ, absmax, number(0));
    Value inverse = b.div(number(1), b.select(isZero, number(1), absmax));
    Value step =
        b.floor(b.add(b.mul(b.add(b.mul(value, inverse), number(1)), number(kSteps / 2)), number(0.5)));
    // Exact, all of them: odd numbers up to 65535, and their magnitude and 1.
    Value steps = isSigned ? b.fma(step, number(2), number(-kSteps)) : Value();
    Value z = isSigned ? b.add(b.abs(steps), number(1)) : b.fma(step, number(2), number(1 - kSteps));
    EncodeTables tables = encodeTables();
    Value bits = bitsOf(z);
    Value place = exponentOf(b.add(bits, bitsOf(lookUp(b, exponentOf(bits), tables.carry))));
    Value j = b.fma(z, lookUp(b, place, tables.factor), lookUp(b, place, tables.offset));
    j = least(j, lookUp(b, place, tables.most)); // a number also of what is none
    j = b.cast(isSigned ? withSign(j, signOf(bitsOf(steps))) : j, i32);
    if (isSigned)
      j = b.maximum(integer(0), b.add(integer(127), j)); // There is no code for -1.
    return b.cast(b.select(isZero, integer(0), j), b.builder.getI8Type());
  }
};
/// Of a block. Magnitudes are in order as their bits are, and a NaN is above all of them.
Value largestMagnitude(ClusterBodyBuilder &b, Value x) {
  Value bits = arith::BitcastOp::create(b.builder, b.loc, b.builder.getI32Type(), b.abs(x));
  return arith::BitcastOp::create(b.builder, b.loc, x.getType(), b.max(bits));
}
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
  Value absmax1 = largestMagnitude(b, moment1), absmax2 = largestMagnitude(b, moment2);
  results.append({b.sub(param, step), withSign.encode(moment1, absmax1), absmax1,
                  without.encode(moment2, absmax2), absmax2});
}
