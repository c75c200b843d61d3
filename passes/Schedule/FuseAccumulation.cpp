#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FUSEACCUMULATION
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

struct Gradient {
  Operation *product = nullptr;
  bool transA = false, transB = false;
};

Gradient plainMatmulOf(Value value) {
  if (auto matmul = value.getDefiningOp<onnx::MatMulOp>())
    return {matmul, matmul.getTransA(), matmul.getTransB()};
  auto gemm = value.getDefiningOp<onnx::GemmOp>();
  if (!gemm || gemm.getC() || gemm.getAlpha().convertToFloat() != 1)
    return {};
  return {gemm, gemm.getTransA(), gemm.getTransB()};
}

/// What is cast to the type that `value` has, or the value itself.
Value beforeCast(Value value) {
  auto cast = value.getDefiningOp<onnx::CastOp>();
  return cast ? cast.getX() : value;
}

/// The product of two matrices that makes a gradient of the sum's type, and that nothing else reads; null
/// where it is another.
Gradient gradientMatmul(Value value, Type sum) {
  Value product = beforeCast(value);
  if (elementOf(value) != sum || !value.hasOneUse() || !product.hasOneUse() ||
      !train::addsTo(elementOf(product), sum))
    return {};
  Gradient gradient = plainMatmulOf(product);
  auto isMatrix = [](Value operand) {
    return rankOf(operand) == 2 && tensorType(operand).getNumElements() > 0;
  };
  const bool fits = gradient.product && isMatrix(gradient.product->getOperand(0)) &&
                    isMatrix(gradient.product->getOperand(1));
  return fits ? gradient : Gradient();
}

bool isThereBefore(Operation *op, Value value) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->isBeforeInBlock(op);
}

/// The sum is made where the product was: its operands need not live longer.
struct FuseAccumulation : impl::FuseAccumulationBase<FuseAccumulation> {
  void run() override {
    int64_t joined = 0;
    if (getOperation().isExternal())
      return;
    for (auto sum :
         llvm::make_early_inc_range(getOperation().getBody().front().getOps<train::AccumulateOp>()))
      joined += join(sum);
    addStatistic("products joined", joined);
  }

  /// The host tells such a product which micro-batch it is of, and of a pipeline's step it runs all of them.
  static bool isUnrolled(train::AccumulateOp sum) { return !isa<BlockArgument>(sum.getMicro()); }

  static bool join(train::AccumulateOp sum) {
    Value value = sum.getGradient();
    Gradient gradient = gradientMatmul(value, elementOf(sum.getAccumulator()));
    if (!gradient.product || !isThereBefore(gradient.product, sum.getAccumulator()) || isUnrolled(sum))
      return false;
    PlacedBuilder builder(gradient.product);
    auto fused = train::AccumulateProductOp::create(builder, sum.getLoc(), sum.getType(),
                                                    gradient.product->getOperand(0),
                                                    gradient.product->getOperand(1), sum.getAccumulator(),
                                                    sum.getMicro(), gradient.transA, gradient.transB);
    sum.replaceAllUsesWith(fused.getResult());
    sum.erase();
    if (value.getDefiningOp() != gradient.product)
      value.getDefiningOp()->erase();
    gradient.product->erase();
    return true;
  }
};
} // namespace
} // namespace kedge::schedule
