#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Support/Statistics.h"
#include "passes/Precision/Passes.h"

namespace kedge::precision {
#define GEN_PASS_DEF_JOINBIAS
#include "passes/Precision/Passes.h.inc"

namespace {
using namespace mlir;

/// The product of rows and one matrix that nothing but a sum reads; null when `value` is none.
onnx::MatMulOp productOf(Value value) {
  auto product = value.getDefiningOp<onnx::MatMulOp>();
  bool isLinear = product && value.hasOneUse() && rankOf(product.getA()) >= 2 && rankOf(product.getB()) == 2 && !product.getTransA();
  return isLinear ? product : onnx::MatMulOp();
}

/// One number a column of the product.
bool isBiasOf(Value bias, Value product) {
  return rankOf(bias) == 1 && shapeOf(bias)[0] == shapeOf(product).back() && elementOf(bias) == elementOf(product);
}

bool join(onnx::AddOp sum) {
  for (auto [product, bias] : {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    onnx::MatMulOp linear = productOf(product);
    if (!linear || !isBiasOf(bias, product))
      continue;
    OpBuilder builder(sum);
    auto gemm = onnx::GemmOp::create(builder, linear.getLoc(), linear.getA(), linear.getB(), bias, false, linear.getTransB(),
                                     APFloat(1.0f), APFloat(1.0f));
    gemm->setDiscardableAttrs(linear->getDiscardableAttrDictionary());
    sum.replaceAllUsesWith(gemm.getResult());
    sum.erase();
    linear.erase();
    return true;
  }
  return false;
}

struct JoinBias : impl::JoinBiasBase<JoinBias> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (train::kindOf(function) != train::FunctionKind::Model)
      return;
    int64_t joined = 0;
    for (auto sum : llvm::make_early_inc_range(function.getBody().front().getOps<onnx::AddOp>()))
      joined += join(sum);
    addStatistic("kedge-join-bias", "biases joined", joined);
  }
};
} // namespace
} // namespace kedge::precision
