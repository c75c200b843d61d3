// Series are the functions' own, after an argument reduction that makes them short.
#include "passes/Lower/Gpu/DoubleMath.h"
#include <limits>

using namespace mlir;
using namespace kedge::lower;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 0x1.921fb54442d18p+1;

struct Bits {
  Expression &e;
  Type i64 = e.typed(e.b.getI64Type());

  Value number(int64_t v) { return e.constant(e.b.getI64IntegerAttr(v)); }
  Value of(Value x) { return arith::BitcastOp::create(e.b, e.loc, i64, x); }
  Value real(Value bits) { return arith::BitcastOp::create(e.b, e.loc, e.typed(e.b.getF64Type()), bits); }
  Value add(Value x, Value y) { return arith::AddIOp::create(e.b, e.loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(e.b, e.loc, x, y); }
  Value shiftLeft(Value x, int64_t by) { return arith::ShLIOp::create(e.b, e.loc, x, number(by)); }
  Value shiftRight(Value x, int64_t by) { return arith::ShRSIOp::create(e.b, e.loc, x, number(by)); }
  Value integer(Value x) { return arith::FPToSIOp::create(e.b, e.loc, i64, x); }
  Value real64(Value n) { return arith::SIToFPOp::create(e.b, e.loc, e.typed(e.b.getF64Type()), n); }
  /// 2^n of a normal result.
  Value power(Value n) { return real(shiftLeft(add(n, number(1023)), 52)); }
};

Value compare(Expression &e, arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(e.b, e.loc, predicate, x, y);
}
Value negate(Expression &e, Value x) { return arith::NegFOp::create(e.b, e.loc, x); }

} // namespace

// e^x = 2^k e^r with |r| <= log(2) / 2; 2^k in two halves reaches the subnormal numbers.
Value kedge::lower::gpu::exp64(Expression &e, Value x) {
  Bits bits{e};
  Value bounded = e.select(e.less(x, e.f64(720)), x, e.f64(720));
  bounded = e.select(e.less(e.f64(-760), bounded), bounded, e.f64(-760));
  Value k = math::RoundEvenOp::create(e.b, e.loc, e.mul(bounded, e.f64(0x1.71547652b82fep+0)));
  Value r = e.fma(k, e.f64(-0x1.62e42fefa39efp-1), bounded);
  r = e.fma(k, e.f64(-0x1.abc9e3b39803fp-56), r);
  double term = 1;
  SmallVector<double> series{1};
  for (int n = 1; n <= 13; ++n)
    series.push_back(term /= n);
  Value sum = e.polynomial64(r, series), n = bits.integer(k), half = bits.shiftRight(n, 1);
  Value result = e.mul(e.mul(sum, bits.power(half)), bits.power(bits.sub(n, half)));
  return e.select(compare(e, arith::CmpFPredicate::UNO, x, x), x, result);
}

// x = 2^k m with m in [1/sqrt(2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)).
Value kedge::lower::gpu::log64(Expression &e, Value x) {
  Bits bits{e};
  Value isSmall = e.less(x, e.f64(0x1p-1022));
  Value normal = e.select(isSmall, e.mul(x, e.f64(0x1p54)), x);
  // Counted from sqrt(1/2), exponents change where m does.
  Value offset = bits.sub(bits.of(normal), bits.number(0x3fe6a09e667f3bcd));
  Value k = bits.shiftRight(offset, 52);
  Value m = bits.real(bits.sub(bits.of(normal), bits.shiftLeft(k, 52)));
  Value f = e.sub(m, e.f64(1)), s = e.div(f, e.add(m, e.f64(1))), square = e.mul(s, s);
  SmallVector<double> series;
  for (int n = 1; n <= 11; ++n)
    series.push_back(2.0 / (2 * n + 1));
  // log m = 2 s + s (square tail), and 2 s = f - f s: f is exact.
  Value tail = e.mul(square, e.polynomial64(square, series));
  Value log = e.sub(f, e.mul(s, e.sub(f, tail)));
  Value count = e.sub(bits.real64(k), e.select(isSmall, e.f64(54), e.f64(0)));
  Value result = e.fma(count, e.f64(0x1.62e42fefa39efp-1), e.fma(count, e.f64(0x1.abc9e3b39803fp-56), log));
  result = e.select(compare(e, arith::CmpFPredicate::OEQ, x, e.f64(0)), e.f64(-kInfinity), result);
  result = e.select(compare(e, arith::CmpFPredicate::OEQ, x, e.f64(kInfinity)), x, result);
  return e.select(compare(e, arith::CmpFPredicate::OGE, x, e.f64(0)), result,
                  e.f64(std::numeric_limits<double>::quiet_NaN()));
}

Value kedge::lower::gpu::pow64(Expression &e, Value x, Value y) {
  Value magnitude = exp64(e, e.mul(y, log64(e, e.abs(x))));
  auto isInteger = [&](Value v) {
    return compare(e, arith::CmpFPredicate::OEQ, math::FloorOp::create(e.b, e.loc, v), v);
  };
  Value whole = isInteger(y), even = isInteger(e.mul(y, e.f64(0.5)));
  // The sign of x tells -0 from 0, too.
  Value isNegative = e.less(e.copySign(e.f64(1), x), e.f64(0));
  Value odd = e.select(even, magnitude, negate(e, magnitude));
  Value undefined = e.select(e.less(x, e.f64(0)), e.f64(std::numeric_limits<double>::quiet_NaN()), magnitude);
  // An infinite base has a power for every exponent, and an infinite exponent is an even number.
  undefined =
      e.select(compare(e, arith::CmpFPredicate::OEQ, e.abs(x), e.f64(kInfinity)), magnitude, undefined);
  Value result = e.select(isNegative, e.select(whole, odd, undefined), magnitude);
  Value isOne = compare(e, arith::CmpFPredicate::OEQ, x, e.f64(1));
  Value unit = compare(e, arith::CmpFPredicate::OEQ, y, e.f64(0));
  Value minusOne = compare(e, arith::CmpFPredicate::OEQ, x, e.f64(-1));
  Value endless = compare(e, arith::CmpFPredicate::OEQ, e.abs(y), e.f64(kInfinity));
  unit = arith::OrIOp::create(e.b, e.loc, arith::OrIOp::create(e.b, e.loc, isOne, unit),
                              arith::AndIOp::create(e.b, e.loc, minusOne, endless));
  return e.select(unit, e.f64(1), result);
}

// The smaller over the larger is in [0, 1]; two bisections of the angle bring it below tan(pi / 16).
Value kedge::lower::gpu::angle64(Expression &e, Value y, Value x) {
  Value ax = e.abs(x), ay = e.abs(y), steep = e.less(ax, ay);
  Value small = e.select(steep, ax, ay), large = e.select(steep, ay, ax);
  Value t = e.div(small, large);
  for (int round = 0; round < 2; ++round) {
    Value root = math::SqrtOp::create(e.b, e.loc, e.fma(t, t, e.f64(1)));
    t = e.div(t, e.add(root, e.f64(1)));
  }
  Value square = e.mul(t, t);
  SmallVector<double> series;
  for (int n = 0; n <= 11; ++n)
    series.push_back((n % 2 ? -4.0 : 4.0) / (2 * n + 1));
  Value angle = e.mul(t, e.polynomial64(square, series));
  angle = e.select(steep, e.sub(e.f64(kPi / 2), angle), angle);
  Value left = e.less(e.copySign(e.f64(1), x), e.f64(0));
  return e.copySign(e.select(left, e.sub(e.f64(kPi), angle), angle), y);
}
