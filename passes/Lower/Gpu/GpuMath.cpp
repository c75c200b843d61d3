#include "passes/Lower/Gpu/GpuMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Lower/Cluster/MathLowering.h"
#include "passes/Lower/Gpu/DoubleMath.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

using namespace mlir;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {

/// 2/pi in binary, from the point on.
constexpr uint32_t kTwoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                   0xdb629599, 0x3c439041, 0xfe5163ab};

/// Integers for the reduction of large angles.
struct Integers {
  Expression &e;
  Value number(uint64_t v) { return e.constant(e.b.getI64IntegerAttr(int64_t(v))); }
  Value add(Value x, Value y) { return arith::AddIOp::create(e.b, e.loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(e.b, e.loc, x, y); }
  Value low(Value x) { return arith::AndIOp::create(e.b, e.loc, x, number(0xffffffff)); }
  Value high(Value x) { return arith::ShRUIOp::create(e.b, e.loc, x, number(32)); }
  Value shl(Value x, Value by) { return arith::ShLIOp::create(e.b, e.loc, x, by); }
  Value shr(Value x, Value by) { return arith::ShRUIOp::create(e.b, e.loc, x, by); }
  Value pair(Value h, Value l) { return arith::OrIOp::create(e.b, e.loc, shl(h, number(32)), l); }
  Value equal(Value x, uint64_t v) {
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, x, number(v));
  }
};

/// |x| = m 2^(z + 2) with z in [0, 128). Of m * 2/pi only the bits from 2 to 2^-62 matter: bits of 2/pi
/// before place z make multiples of 4, and 96 bits from there on are more than any f32 needs.
Value farCircular(PatternRewriter &rewriter, Operation *op) {
  Expression e(rewriter, op->getLoc(), op->getResult(0).getType());
  OpBuilder &b = e.b;
  Location loc = e.loc;
  Integers n{e};
  Value x = op->getOperand(0);
  Value bits = arith::BitcastOp::create(b, loc, e.typed(b.getI32Type()), e.abs(x));
  bits = arith::ExtUIOp::create(b, loc, e.typed(b.getI64Type()), bits);
  Value mantissa = arith::AndIOp::create(b, loc, bits, n.number(0x7fffff));
  mantissa = arith::OrIOp::create(b, loc, mantissa, n.number(0x800000));
  Value z = n.add(n.shr(bits, n.number(23)), n.number(-uint64_t(152)));
  // Smaller arguments have a shorter way; here they must only stay inside the table.
  z = arith::MaxSIOp::create(b, loc, z, n.number(0));
  z = arith::MinSIOp::create(b, loc, z, n.number(127));
  Value word = n.shr(z, n.number(5)), shift = arith::AndIOp::create(b, loc, z, n.number(31));
  auto tableAt = [&](unsigned offset) {
    Value value = n.number(kTwoOverPi[offset]);
    for (unsigned at = 1; at < 4; ++at)
      value = e.select(n.equal(word, at), n.number(kTwoOverPi[at + offset]), value);
    return value;
  };
  SmallVector<Value> table{tableAt(0), tableAt(1), tableAt(2), tableAt(3)}, window;
  for (unsigned at = 0; at < 3; ++at)
    window.push_back(n.high(n.shl(n.pair(table[at], table[at + 1]), shift)));
  Value product = n.mul(mantissa, window[2]);
  Value middle = n.add(n.mul(mantissa, window[1]), n.high(product));
  Value top = n.add(n.mul(mantissa, window[0]), n.high(middle));
  Value turns = n.pair(top, n.low(middle));
  Value quadrant = n.shr(n.add(turns, n.number(uint64_t(1) << 61)), n.number(62));
  Value rest = arith::SubIOp::create(b, loc, turns, n.shl(quadrant, n.number(62)));
  Value angle = arith::SIToFPOp::create(b, loc, e.typed(b.getF64Type()), rest);
  Value r = arith::TruncFOp::create(b, loc, x.getType(), e.mul(angle, e.f64(0x1.921fb54442d18p-62)));
  quadrant = arith::TruncIOp::create(b, loc, e.typed(b.getI32Type()), quadrant);
  bool isCosine = isa<math::CosOp>(op);
  if (isCosine)
    quadrant = arith::AddIOp::create(b, loc, quadrant, e.i32(1));
  Value value = seriesOfQuadrant(e, r, quadrant);
  if (!isCosine)
    value = e.select(e.less(x, e.f32(0)), arith::NegFOp::create(b, loc, value), value);
  Value finite = e.less(e.abs(x), e.f32(std::numeric_limits<float>::infinity()));
  return e.select(finite, value, e.f32(std::numeric_limits<float>::quiet_NaN()));
}

/// f32 functions without a polynomial of their own, in f64.
Value inDouble(Expression &e, StringRef name, ArrayRef<Value> x) {
  auto log = [&](Value v) { return log64(e, v); };
  auto exp = [&](Value v) { return exp64(e, v); };
  auto negated = [&](Value v) -> Value { return arith::NegFOp::create(e.b, e.loc, v); };
  auto root = [&](Value v) -> Value { return math::SqrtOp::create(e.b, e.loc, v); };
  // Near zero differences cancel: x + c x^3 is all that f32 sees.
  auto odd = [&](double cubic, Value far) {
    Value near = e.fma(e.mul(e.mul(x[0], x[0]), x[0]), e.f64(cubic), x[0]);
    return e.select(e.less(e.abs(x[0]), e.f64(0x1p-10)), near, far);
  };
  Value one = e.f64(1);
  if (name == "powf")
    return pow64(e, x[0], x[1]);
  if (name == "atan2") {
    Value sum = e.add(e.abs(x[0]), e.abs(x[1])), left = e.less(e.copySign(one, x[1]), e.f64(0));
    Value isOrigin = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, sum, e.f64(0));
    Value atOrigin = e.copySign(e.select(left, e.f64(0x1.921fb54442d18p+1), e.f64(0)), x[0]);
    return e.select(isOrigin, atOrigin, angle64(e, x[0], x[1]));
  }
  Value side = root(e.mul(e.sub(one, x[0]), e.add(one, x[0])));
  if (name == "asin")
    return angle64(e, x[0], side);
  if (name == "acos")
    return angle64(e, side, x[0]);
  if (name == "atan")
    return angle64(e, x[0], one);
  if (name == "exp2")
    return exp(e.mul(x[0], e.f64(0x1.62e42fefa39efp-1)));
  if (name == "log2")
    return e.mul(log(x[0]), e.f64(0x1.71547652b82fep+0));
  if (name == "log10")
    return e.mul(log(x[0]), e.f64(0x1.bcb7b1526e50ep-2));
  if (name == "cosh")
    return e.mul(e.add(exp(x[0]), exp(negated(x[0]))), e.f64(0.5));
  if (name == "sinh")
    return odd(1.0 / 6, e.mul(e.sub(exp(x[0]), exp(negated(x[0]))), e.f64(0.5)));
  if (name == "asinh") {
    Value t = e.abs(x[0]);
    return odd(-1.0 / 6, e.copySign(log(e.add(t, root(e.fma(t, t, one)))), x[0]));
  }
  if (name == "acosh")
    return log(e.add(x[0], root(e.mul(e.sub(x[0], one), e.add(x[0], one)))));
  if (name == "atanh")
    return odd(1.0 / 3, e.mul(log(e.div(e.add(one, x[0]), e.sub(one, x[0]))), e.f64(0.5)));
  return nullptr;
}

struct SingleInDouble : RewritePattern {
  SingleInDouble(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()) ||
        !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
      return failure();
    Expression e(rewriter, op->getLoc(), op->getResult(0).getType());
    if (isa<math::TanOp>(op)) {
      rewriter.replaceOpWithNewOp<arith::DivFOp>(
          op, math::SinOp::create(rewriter, op->getLoc(), op->getOperand(0)),
          math::CosOp::create(rewriter, op->getLoc(), op->getOperand(0)));
      return success();
    }
    StringRef name = op->getName().stripDialect();
    if (!llvm::is_contained({"powf", "atan2", "asin", "acos", "atan", "exp2", "log2", "log10", "cosh", "sinh",
                             "asinh", "acosh", "atanh"},
                            name))
      return failure();
    SmallVector<Value> wide;
    for (Value operand : op->getOperands())
      wide.push_back(arith::ExtFOp::create(rewriter, op->getLoc(), e.typed(rewriter.getF64Type()), operand));
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op->getResult(0).getType(), inDouble(e, name, wide));
    return success();
  }
};

struct Double : RewritePattern {
  Double(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<math::ExpOp, math::LogOp, math::PowFOp>(op) ||
        !getElementTypeOrSelf(op->getResult(0).getType()).isF64())
      return failure();
    Expression e(rewriter, op->getLoc(), op->getResult(0).getType());
    Value x = op->getOperand(0);
    rewriter.replaceOp(op, isa<math::ExpOp>(op)   ? exp64(e, x)
                           : isa<math::LogOp>(op) ? log64(e, x)
                                                  : pow64(e, x, op->getOperand(1)));
    return success();
  }
};

/// exp and tanh by the machine's approximations of 2^x and 1/x (2 units and 1 of the last place), where the
/// cluster allows it (kedge-approximate-exponentials). There is a tanh.approx, too: its relative error of
/// 2^-11 is more than half a unit of bf16's last place leaves room for.
struct FastExponential : RewritePattern {
  FastExponential(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  static constexpr float kLog2E = 1.44269504f;

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
    if (!isa<math::ExpOp, math::TanhOp>(op) || !getElementTypeOrSelf(op->getResult(0).getType()).isF32() ||
        !bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn))
      return failure();
    Expression e(rewriter, op->getLoc(), op->getResult(0).getType());
    Value x = op->getOperand(0);
    rewriter.replaceOp(op, isa<math::ExpOp>(op) ? power(e, e.mul(x, e.f32(kLog2E))) : tanh(e, x));
    return success();
  }

  /// 1 - 2 / (exp(2 |x|) + 1); near zero, where that cancels, x - x^3 / 3 is as good.
  static Value tanh(Expression &e, Value x) {
    Value t = e.abs(x), sum = e.add(power(e, e.mul(t, e.f32(2 * kLog2E))), e.f32(1));
    Value far = e.copySign(e.fma(e.f32(-2), each(e, "llvm.nvvm.rcp.approx.ftz.f", sum), e.f32(1)), x);
    Value near = e.mul(x, e.fma(e.mul(x, x), e.f32(-1.0f / 3), e.f32(1))); // has the sign of a zero
    return e.select(e.less(t, e.f32(0.0625f)), near, far);
  }

  static Value power(Expression &e, Value x) { return each(e, "llvm.nvvm.ex2.approx.ftz.f32", x); }

  static Value each(Expression &e, StringRef name, Value x) {
    auto call = [&](Value lane) -> Value {
      auto intrinsic = e.b.getStringAttr(name);
      return LLVM::CallIntrinsicOp::create(e.b, e.loc, e.b.getF32Type(), intrinsic, ValueRange{lane})
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(x.getType());
    if (!vector)
      return call(x);
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
      lanes.push_back(call(vector::ExtractOp::create(e.b, e.loc, x, lane)));
    return vector::FromElementsOp::create(e.b, e.loc, vector, lanes);
  }
};

void expandFastExponentials(mlir::gpu::GPUModuleOp kernels) {
  RewritePatternSet erf(kernels.getContext()), fast(kernels.getContext());
  populateErf(erf);
  walkAndApplyPatterns(kernels, std::move(erf)); // leaves exponentials
  fast.add<FastExponential>(kernels.getContext());
  walkAndApplyPatterns(kernels, std::move(fast));
}

bool hasInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp,
             math::RoundEvenOp, math::RoundOp, math::RsqrtOp, math::SqrtOp, math::TruncOp>(op);
}

} // namespace

LogicalResult kedge::lower::gpu::lowerMath(mlir::gpu::GPUModuleOp kernels) {
  RewritePatternSet wide(kernels.getContext());
  expandFastExponentials(kernels);
  // Simple powers come first: they are exact products.
  expandMath(kernels, farCircular);
  wide.add<SingleInDouble, Double>(kernels.getContext());
  walkAndApplyPatterns(kernels, std::move(wide));
  // tan leaves a sine and a cosine.
  expandMath(kernels, farCircular);
  auto result = kernels.walk([](Operation *op) -> WalkResult {
    if (!isa<math::MathDialect>(op->getDialect()) || hasInstruction(op))
      return WalkResult::advance();
    return op->emitError() << op->getName() << " has no expansion for GPUs on "
                           << getElementTypeOrSelf(op->getResult(0).getType())
                           << "; compute it in f32, or compile with --target cpu";
  });
  return failure(result.wasInterrupted());
}
