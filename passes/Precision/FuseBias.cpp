#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_FUSEBIAS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

/// The product of rows and one matrix that nothing but a sum reads; null when `value` is none.
onnx::MatMulOp productOf(Value value) {
  auto product = value.getDefiningOp<onnx::MatMulOp>();
  bool isLinear = product && value.hasOneUse() && rankOf(product.getA()) >= 2 &&
                  rankOf(product.getB()) == 2 && !product.getTransA();
  return isLinear ? product : onnx::MatMulOp();
}

/// One number a column of the product.
bool isBiasOf(Value bias, Value product) {
  return rankOf(bias) == 1 && shapeOf(bias)[0] == shapeOf(product).back() &&
         elementOf(bias) == elementOf(product);
}

bool join(onnx::AddOp sum) {
  for (auto [product, bias] : {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    onnx::MatMulOp linear = productOf(product);
    if (!linear || !isBiasOf(bias, product))
      continue;
    OpBuilder builder(sum);
    auto gemm = onnx::GemmOp::create(builder, linear.getLoc(), linear.getA(), linear.getB(), bias, false,
                                     linear.getTransB(), APFloat(1.0f), APFloat(1.0f));
    gemm->setDiscardableAttrs(linear->getDiscardableAttrDictionary());
    sum.replaceAllUsesWith(gemm.getResult());
    sum.erase();
    linear.erase();
    return true;
  }
  return false;
}

/// A C of rank 0 is added apart: scalars are not rounded to 16 bits, and a product has operands of one type.
bool splitScalar(onnx::GemmOp gemm) {
  Value c = gemm.getC();
  if (!c || rankOf(c) != 0)
    return false;
  OpBuilder builder(gemm);
  builder.setInsertionPointAfter(gemm);
  Location loc = gemm.getLoc();
  Value scaled =
      gemm.getBeta().convertToFloat() == 1.0f
          ? c
          : onnx::MulOp::create(builder, loc, c, scalarLike(builder, loc, c, gemm.getBeta().convertToFloat()))
                .getResult();
  auto sum = onnx::AddOp::create(builder, loc, gemm.getResult(), scaled);
  for (Operation *op = gemm->getNextNode();; op = op->getNextNode()) {
    op->setDiscardableAttrs(gemm->getDiscardableAttrDictionary());
    if (op == sum)
      break;
  }
  gemm.getResult().replaceAllUsesExcept(sum.getResult(), sum);
  gemm.getCMutable().clear();
  gemm.setBeta(APFloat(1.0f));
  return true;
}

struct FuseBias : impl::FuseBiasBase<FuseBias> {
  void run() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model)
      return;
    int64_t joined = 0;
    for (auto sum : llvm::make_early_inc_range(function.getBody().front().getOps<onnx::AddOp>()))
      joined += join(sum);
    int64_t split = 0;
    for (auto gemm : llvm::make_early_inc_range(function.getBody().front().getOps<onnx::GemmOp>()))
      split += splitScalar(gemm);
    addStatistic("biases joined", joined);
    addStatistic("scalars taken out", split);
  }
};
} // namespace
} // namespace kedge::precision
