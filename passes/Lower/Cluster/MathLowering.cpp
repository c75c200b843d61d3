#include "passes/Lower/Cluster/MathLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Lower/Cluster/MathFunctions.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kedge::lower;

namespace {

/// Name in libm of the f64 function; the f32 one has an f behind.
StringRef libmName(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().stripDialect())
      .Cases({"acos",  "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt",
              "cos",   "cosh",  "erf",  "erfc",  "exp",  "exp2",  "expm1", "log",
              "log10", "log1p", "log2", "sin",   "sinh", "tan",   "tanh"},
             op->getName().stripDialect())
      .Case("powf", "pow")
      .Default("");
}

LLVM::LLVMFuncOp declare(PatternRewriter &rewriter, Operation *op, const std::string &name, Type type,
                         unsigned arity) {
  auto module = op->getParentOfType<ModuleOp>();
  if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(rewriter, module.getLoc(), name,
                                           LLVM::LLVMFunctionType::get(type, SmallVector<Type>(arity, type)));
  function.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
      rewriter.getContext(),
      {LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef,
       LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef}));
  function.setNoUnwind(true);
  function.setWillReturn(true);
  return function;
}

struct CallLibm : RewritePattern {
  CallLibm(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()))
      return failure();
    Value value = callLibm(rewriter, op);
    if (!value)
      return failure();
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// The exponent when it is one constant in all lanes.
std::optional<double> constantExponent(Value exponent) {
  if (auto broadcast = exponent.getDefiningOp<vector::BroadcastOp>())
    exponent = broadcast.getSource();
  auto constant = exponent.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return number.getValueAsDouble();
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  return std::nullopt;
}

struct SimplePower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = constantExponent(op.getRhs());
    if (!exponent)
      return failure();
    Location loc = op.getLoc();
    Value x = op.getLhs(), result;
    auto multiply = [&](Value a, Value b) -> Value { return arith::MulFOp::create(rewriter, loc, a, b); };
    auto one = [&]() -> Value {
      Type scalar = getElementTypeOrSelf(x.getType());
      TypedAttr attr = rewriter.getFloatAttr(scalar, 1.0);
      if (auto vector = dyn_cast<VectorType>(x.getType()))
        attr = DenseElementsAttr::get(vector, cast<Attribute>(attr));
      return arith::ConstantOp::create(rewriter, loc, attr);
    };
    auto inverse = [&](Value a) -> Value { return arith::DivFOp::create(rewriter, loc, one(), a); };
    // As PyTorch does: -0 and -inf are outside of what models take roots of.
    auto root = [&](Value a) -> Value { return math::SqrtOp::create(rewriter, loc, a); };
    if (*exponent == 1.0)
      result = x;
    else if (*exponent == 2.0)
      result = multiply(x, x);
    else if (*exponent == 3.0)
      result = multiply(multiply(x, x), x);
    else if (*exponent == -1.0)
      result = inverse(x);
    else if (*exponent == -2.0)
      result = inverse(multiply(x, x));
    else if (*exponent == 0.5)
      result = root(x);
    else if (*exponent == -0.5)
      result = inverse(root(x));
    else
      return failure();
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Upstream's polynomials whose error is small enough.
bool isAccurateUpstream(StringRef name) {
  return llvm::is_contained({"math.exp", "math.log", "math.log1p", "math.expm1"}, name);
}

} // namespace

Value kedge::lower::callLibm(PatternRewriter &rewriter, Operation *op) {
  StringRef base = libmName(op);
  Type type = op->getResult(0).getType(), scalar = getElementTypeOrSelf(type);
  if (base.empty() || (!scalar.isF32() && !scalar.isF64()))
    return nullptr;
  auto function =
      declare(rewriter, op, (base + (scalar.isF32() ? "f" : "")).str(), scalar, op->getNumOperands());
  Location loc = op->getLoc();
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return LLVM::CallOp::create(rewriter, loc, function, op->getOperands()).getResult();
  Value result = arith::ConstantOp::create(rewriter, loc, cast<TypedAttr>(rewriter.getZeroAttr(type)));
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(vector::ExtractOp::create(rewriter, loc, operand, lane));
    Value value = LLVM::CallOp::create(rewriter, loc, function, operands).getResult();
    result = vector::InsertOp::create(rewriter, loc, value, result, lane);
  }
  return result;
}

void kedge::lower::expandMath(Operation *kernels, MathFallback far) {
  MLIRContext *context = kernels->getContext();
  RewritePatternSet own(context);
  own.add<SimplePower>(context);
  populateFloatFunctions(own, far);
  walkAndApplyPatterns(kernels, std::move(own));
  RewritePatternSet polynomials(context);
  populateMathPolynomialApproximationPatterns(polynomials, isAccurateUpstream);
  walkAndApplyPatterns(kernels, std::move(polynomials));
}

LogicalResult kedge::lower::lowerMath(ModuleOp kernels) {
  expandMath(kernels, callLibm);
  RewritePatternSet calls(kernels.getContext());
  calls.add<CallLibm>(kernels.getContext());
  walkAndApplyPatterns(kernels, std::move(calls));
  return success();
}
