#include "passes/Lower/Gpu/DeviceConversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Lower/Cluster/ScalarOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {

bool isFloat8(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

/// Scalars of a vector in pairs; a single one beside a zero.
class Pairs {
public:
  Pairs(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  /// `convert` makes an integer of two f32, the second in its upper half.
  template <class Convert> Value narrowed(Value value, Type to, Convert convert) {
    const unsigned width = kedge::lower::widthOf(value);
    Type whole = b.getIntegerType(2 * to.getIntOrFloatBitWidth());
    if (width % 2) {
      SmallVector<Value> singles;
      for (unsigned lane = 0; lane < width; ++lane)
        singles.push_back(single(convert(this->lane(value, lane), zero(), whole), to));
      return width == 1 ? singles[0]
                        : vector::FromElementsOp::create(b, loc, lanesOf(to, width), singles).getResult();
    }
    SmallVector<Value> pairs;
    for (unsigned lane = 0; lane < width; lane += 2)
      pairs.push_back(convert(this->lane(value, lane), this->lane(value, lane + 1), whole));
    Value all =
        vector::FromElementsOp::create(b, loc, VectorType::get({int64_t(pairs.size())}, whole), pairs);
    all = vector::BitCastOp::create(b, loc, lanesOf(bitsOf(to), width), all);
    return arith::BitcastOp::create(b, loc, lanesOf(to, width), all);
  }

private:
  Value lane(Value value, unsigned lane) {
    return isa<VectorType>(value.getType()) ? vector::ExtractOp::create(b, loc, value, lane).getResult()
                                            : value;
  }
  Value zero() { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)); }
  Type bitsOf(Type type) { return b.getIntegerType(type.getIntOrFloatBitWidth()); }
  Value single(Value pair, Type to) {
    return arith::BitcastOp::create(b, loc, to, arith::TruncIOp::create(b, loc, bitsOf(to), pair));
  }

  OpBuilder &b;
  Location loc;
};

struct LowerTruncation : OpRewritePattern<arith::TruncFOp> {
  LowerTruncation(MLIRContext *context, DeviceRounding device) : OpRewritePattern(context), device(device) {}

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Type to = getElementTypeOrSelf(op.getType());
    if (!getElementTypeOrSelf(op.getIn().getType()).isF32() || !(to.isBF16() || isFloat8(to)))
      return failure();
    rewriter.replaceOp(op, to.isBF16() ? brain(op, rewriter) : float8(op, to, rewriter));
    return success();
  }

private:
  Value brain(arith::TruncFOp op, PatternRewriter &b) const {
    if (!device.brain)
      return byIntegers(op, b);
    Type pair = VectorType::get({2}, b.getBF16Type());
    return Pairs(b, op.getLoc()).narrowed(op.getIn(), b.getBF16Type(), [&](Value low, Value high, Type word) {
      Value both = NVVM::ConvertF32x2ToBF16x2Op::create(b, op.getLoc(), pair, high, low, Value(),
                                                        NVVM::FPRoundingMode::RN);
      return LLVM::BitcastOp::create(b, op.getLoc(), word, both).getResult();
    });
  }

  Value float8(arith::TruncFOp op, Type to, PatternRewriter &b) const {
    if (!device.float8)
      return byIntegers(op, b);
    return Pairs(b, op.getLoc()).narrowed(op.getIn(), to, [&](Value low, Value high, Type word) {
      return NVVM::ConvertF32x2ToF8x2Op::create(b, op.getLoc(), word, high, low, NVVM::FPRoundingMode::RN,
                                                NVVM::SaturationMode::SATFINITE, /*relu=*/false, to)
          .getResult();
    });
  }

  static Value byIntegers(arith::TruncFOp op, PatternRewriter &b) {
    Value bits = ScalarOps(b, op.getLoc()).narrow(op.getIn(), getElementTypeOrSelf(op.getType()));
    return arith::BitcastOp::create(b, op.getLoc(), op.getType(), bits);
  }

  DeviceRounding device;
};

struct LowerExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    if (!getElementTypeOrSelf(op.getType()).isF32() || !(from.isBF16() || isFloat8(from)))
      return failure();
    ScalarOps ops(rewriter, op.getLoc());
    const unsigned width = kedge::lower::widthOf(op.getIn());
    if (from.isBF16() && width % 2 == 0) {
      rewriter.replaceOp(op, ofPairs(op, rewriter));
      return success();
    }
    Value bits = arith::BitcastOp::create(rewriter, op.getLoc(), ops.registerType(from, width), op.getIn());
    rewriter.replaceOp(op, ops.widen(bits, from));
    return success();
  }

private:
  /// Two numbers lie in a word: one operation for each of them.
  static Value ofPairs(arith::ExtFOp op, PatternRewriter &b) {
    Location loc = op.getLoc();
    const unsigned width = kedge::lower::widthOf(op.getIn());
    auto number = [&](int64_t value) { return ScalarOps(b, loc).intConstant(32, value, 1); };
    auto type = VectorType::get({int64_t(width / 2)}, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, loc, lanesOf(b.getI16Type(), width), op.getIn());
    Value words = vector::BitCastOp::create(b, loc, type, bits);
    SmallVector<Value> lanes;
    for (unsigned pair = 0; pair < width / 2; ++pair) {
      Value word = vector::ExtractOp::create(b, loc, words, pair);
      lanes.push_back(arith::ShLIOp::create(b, loc, word, number(16)));
      lanes.push_back(arith::AndIOp::create(b, loc, word, number(int64_t(0xffff0000))));
    }
    Value all =
        vector::FromElementsOp::create(b, loc, VectorType::get({int64_t(width)}, b.getI32Type()), lanes);
    return arith::BitcastOp::create(b, loc, op.getType(), all);
  }
};

} // namespace

void kedge::lower::gpu::lowerConversions(mlir::gpu::GPUModuleOp kernels, DeviceRounding device) {
  RewritePatternSet patterns(kernels.getContext());
  patterns.add<LowerTruncation>(kernels.getContext(), device);
  patterns.add<LowerExtension>(kernels.getContext());
  walkAndApplyPatterns(kernels, std::move(patterns));
}
