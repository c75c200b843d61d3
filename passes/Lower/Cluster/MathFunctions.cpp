// Coefficients: weighted least squares at 400 Chebyshev nodes with 40 digits, reweighted until the largest
// relative errors are level; they stay below 4e-9 before rounding to f32.
#include "passes/Lower/Cluster/MathFunctions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Cluster/MathExpression.h"

using namespace mlir;
using namespace kedge::lower;

namespace {

bool isSingle(Operation *op) { return getElementTypeOrSelf(op->getResult(0).getType()).isF32(); }

struct Tanh : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    if (!isSingle(op))
      return failure();
    Expression e(rewriter, op.getLoc(), op.getType());
    Value x = op.getOperand(), t = e.abs(x), square = e.mul(x, x);
    Value series = e.polynomial(square, {-3.333333019e-01f, 1.333318053e-01f, -5.394339867e-02f,
                                         2.168163725e-02f, -8.128988390e-03f, 2.097711226e-03f});
    Value small = e.fma(e.mul(square, series), x, x);
    // Beyond 10 the quotient is lost in rounding; the bound keeps exp finite.
    Value bounded = e.select(e.less(t, e.f32(10)), t, e.f32(10));
    Value quotient = e.div(e.f32(2), e.add(e.exp(e.add(bounded, bounded)), e.f32(1)));
    Value large = e.copySign(e.sub(e.f32(1), quotient), x);
    // A NaN is not less than anything: the series must take it.
    Value isLarge = arith::CmpFOp::create(rewriter, op.getLoc(), arith::CmpFPredicate::OGE, t, e.f32(0.625f));
    rewriter.replaceOp(op, e.select(isLarge, large, small));
    return success();
  }
};

struct Erf : OpRewritePattern<math::ErfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ErfOp op, PatternRewriter &rewriter) const override {
    if (!isSingle(op))
      return failure();
    Expression e(rewriter, op.getLoc(), op.getType());
    Value x = op.getOperand(), t = e.abs(x), square = e.mul(x, x);
    Value series =
        e.polynomial(square, {1.283791666e-01f, -3.761263320e-01f, 1.128368635e-01f, -2.685885108e-02f,
                              5.199599571e-03f, -8.125803861e-04f, 8.296600356e-05f});
    Value small = e.fma(series, x, x);
    // erf(t) = 1 - exp(-(t + t g(t))), which is 1 in f32 from 3.92 on.
    Value bounded = e.select(e.less(t, e.f32(4)), t, e.f32(4));
    Value g =
        e.polynomial(bounded, {1.285414402e-01f, 6.356731434e-01f, 1.051695077e-01f, -2.257562936e-02f,
                               2.869129429e-03f, -2.743820488e-05f, -4.993989523e-05f, 5.296956114e-06f});
    Value negated = arith::NegFOp::create(rewriter, op.getLoc(), e.fma(g, bounded, bounded));
    Value power = math::ExpOp::create(rewriter, op.getLoc(), negated, op.getFastmath());
    Value large = e.copySign(e.sub(e.f32(1), power), x);
    Value isLarge =
        arith::CmpFOp::create(rewriter, op.getLoc(), arith::CmpFPredicate::OGE, t, e.f32(0.9375f));
    rewriter.replaceOp(op, e.select(isLarge, large, small));
    return success();
  }
};

/// Upstream's logarithm takes normal numbers: smaller ones are scaled into its range.
struct Log : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::LogOp op, PatternRewriter &rewriter) const override {
    if (!isSingle(op) || op->hasAttr(kScaled))
      return failure();
    Expression e(rewriter, op.getLoc(), op.getType());
    Value x = op.getOperand(), isSmall = e.less(x, e.f32(0x1p-126f));
    Value scaled = e.select(isSmall, e.mul(x, e.f32(0x1p24f)), x);
    auto log = math::LogOp::create(rewriter, op.getLoc(), scaled);
    log->setAttr(kScaled, rewriter.getUnitAttr());
    Value shifted = e.sub(log, e.f32(16.635532333438686f));
    rewriter.replaceOp(op, e.select(isSmall, shifted, log));
    return success();
  }
  static constexpr StringRef kScaled = "scaled";
};

/// Any lane true.
Value anyOf(OpBuilder &b, Location loc, Value condition) {
  if (!isa<VectorType>(condition.getType()))
    return condition;
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, condition);
}

template <typename Op> struct Circular : OpRewritePattern<Op> {
  Circular(MLIRContext *context, MathFallback far) : OpRewritePattern<Op>(context), far(far) {}
  static constexpr bool isCosine = std::is_same_v<Op, math::CosOp>;

  /// x - k pi/2 in f64 with a pi of 106 bits, then a series of the quadrant.
  Value nearby(Expression &e, Value x) const {
    OpBuilder &b = e.b;
    Location loc = e.loc;
    Value wide = arith::ExtFOp::create(b, loc, e.typed(b.getF64Type()), x);
    Value k = math::RoundEvenOp::create(b, loc, e.mul(wide, e.f64(0x1.45f306dc9c883p-1)));
    Value rest = e.fma(k, e.f64(-0x1.921fb54442d18p+0), wide);
    rest = e.fma(k, e.f64(-0x1.1a62633145c07p-54), rest);
    Value r = arith::TruncFOp::create(b, loc, x.getType(), rest);
    Value quadrant = arith::FPToSIOp::create(b, loc, e.typed(b.getI32Type()), k);
    if (isCosine)
      quadrant = arith::AddIOp::create(b, loc, quadrant, e.i32(1));
    Value value = seriesOfQuadrant(e, r, quadrant);
    if (isCosine)
      return value;
    // The sign of zero.
    Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, e.f32(0));
    return e.select(isZero, x, value);
  }

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isSingle(op))
      return failure();
    Location loc = op.getLoc();
    Expression e(rewriter, loc, op.getType());
    Value x = op.getOperand();
    Value inRange = e.less(e.abs(x), e.f32(0x1p30f));
    Value value = nearby(e, e.select(inRange, x, e.f32(0)));
    Value isFar = arith::XOrIOp::create(rewriter, loc, inRange,
                                        e.constant(rewriter.getIntegerAttr(rewriter.getI1Type(), 1)));
    auto branch =
        scf::IfOp::create(rewriter, loc, TypeRange{op.getType()}, anyOf(rewriter, loc, isFar), true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      Value exact = far(rewriter, op);
      scf::YieldOp::create(rewriter, loc, e.select(inRange, value, exact));
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, loc, value);
    }
    rewriter.replaceOp(op, branch.getResult(0));
    return success();
  }

  MathFallback far;
};

} // namespace

Value kedge::lower::seriesOfQuadrant(Expression &e, Value r, Value quadrant) {
  OpBuilder &b = e.b;
  Location loc = e.loc;
  Value square = e.mul(r, r);
  Value sine = e.fma(
      e.mul(square, e.polynomial(square, {-1.666665494e-01f, 8.332178114e-03f, -1.951729550e-04f})), r, r);
  Value cosine = e.fma(
      square, e.polynomial(square, {-0.5f, 4.166664686e-02f, -1.388736746e-03f, 2.443844553e-05f}), e.f32(1));
  auto bitOf = [&](int32_t bit) -> Value {
    Value masked = arith::AndIOp::create(b, loc, quadrant, e.i32(bit));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked, e.i32(0));
  };
  Value value = e.select(bitOf(1), cosine, sine);
  return e.select(bitOf(2), arith::NegFOp::create(b, loc, value), value);
}

void kedge::lower::populateErf(RewritePatternSet &patterns) { patterns.add<Erf>(patterns.getContext()); }

void kedge::lower::populateFloatFunctions(RewritePatternSet &patterns, MathFallback far) {
  patterns.add<Tanh, Erf, Log>(patterns.getContext());
  patterns.add<Circular<math::SinOp>, Circular<math::CosOp>>(patterns.getContext(), far);
}
