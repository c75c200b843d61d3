#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FUSEGELU
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using train::FusedProductOp;

/// A product of rows and one matrix to which at most a bias is added.
struct Linear {
  Operation *op = nullptr;
  Value a, b, bias;
  bool transA = false, transB = false;

  explicit operator bool() const { return op; }
};

bool isBiasOf(Value bias, Value product) {
  return rankOf(bias) == 1 && shapeOf(bias)[0] == shapeOf(product).back();
}

Linear linearOf(Value value) {
  if (auto matmul = value.getDefiningOp<onnx::MatMulOp>())
    return {matmul, matmul.getA(), matmul.getB(), {}, matmul.getTransA(), matmul.getTransB()};
  auto gemm = value.getDefiningOp<onnx::GemmOp>();
  if (!gemm || gemm.getAlpha().convertToFloat() != 1)
    return {};
  Value c = gemm.getC();
  if (c && (gemm.getBeta().convertToFloat() != 1 || !isBiasOf(c, value)))
    return {};
  return {gemm, gemm.getA(), gemm.getB(), c, gemm.getTransA(), gemm.getTransB()};
}

/// Null where cuBLASLt has no epilogue with GELU.
Linear productOf(Value value) {
  Linear product = linearOf(value);
  const bool isOne = product && rankOf(product.b) == 2 && rankOf(product.a) == rankOf(value) &&
                     (!product.transA || rankOf(value) == 2);
  return isOne && train::takesEpilogue(value.getType()) && tensorType(product.a).getNumElements() > 0
             ? product
             : Linear();
}

/// The sum of all rows of its operand.
bool sumsRows(Operation *op) {
  auto sum = dyn_cast<onnx::ReduceSumOp>(op);
  return sum && !sum.getKeepdims() &&
         llvm::equal(sum.getAxes(), llvm::seq<int64_t>(0, rankOf(sum.getX()) - 1));
}

struct FuseGelu : impl::FuseGeluBase<FuseGelu> {
  using Base::Base;
  int64_t joined = 0, gradients = 0, joinedSums = 0;

  void run() override {
    joined = gradients = joinedSums = 0;
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    for (auto gelu : llvm::make_early_inc_range(block.getOps<onnx::GeluOp>()))
      if (gelu.getApproximate() == onnx::Approximation::Tanh)
        join(gelu);
    for (auto gradient : llvm::make_early_inc_range(block.getOps<train::GeluGradOp>()))
      if (gradient.getApproximate() == onnx::Approximation::Tanh)
        join(gradient);
    addStatistic("gelus joined", joined);
    addStatistic("gradients joined", gradients);
    addStatistic("bias gradients joined", joinedSums);
  }

  static FusedProductOp create(OpBuilder &builder, Location loc, const Linear &product, TypeRange types,
                               Value c, train::Epilogue epilogue) {
    return FusedProductOp::create(builder, loc, types, product.a, product.b, c,
                                  builder.getStringAttr(stringifyEnum(epilogue)),
                                  builder.getBoolAttr(product.transA), builder.getBoolAttr(product.transB));
  }

  /// GELU's input is a result of its own where anything else reads it.
  void join(onnx::GeluOp gelu) {
    Value sum = gelu.getX();
    Linear product = productOf(sum);
    if (!product)
      return;
    PlacedBuilder builder(product.op);
    SmallVector<Type> types(sum.hasOneUse() ? 1 : 2, sum.getType());
    FusedProductOp fused =
        create(builder, gelu.getLoc(), product, types, product.bias, train::Epilogue::Gelu);
    giveValueNotes(gelu, fused.getY());
    gelu.replaceAllUsesWith(fused.getY());
    gelu.erase();
    if (fused.getZ()) {
      giveValueNotes(sum.getDefiningOp(), fused.getZ());
      sum.replaceAllUsesWith(fused.getZ());
    }
    product.op->erase();
    ++joined;
  }

  void join(train::GeluGradOp gradient) {
    Value dY = gradient.getDY();
    Linear product = productOf(dY);
    if (!product || product.bias || !dY.hasOneUse())
      return;
    SmallVector<Operation *> rowSums;
    if (sums)
      rowSums = llvm::filter_to_vector(gradient->getUsers(), sumsRows);
    PlacedBuilder builder(gradient);
    SmallVector<Type> types{dY.getType()};
    if (!rowSums.empty())
      types.push_back(rowSums.front()->getResult(0).getType());
    FusedProductOp fused =
        create(builder, gradient.getLoc(), product, types, gradient.getX(), train::Epilogue::GeluGrad);
    for (Operation *sum : rowSums) {
      giveValueNotes(sum, fused.getZ());
      sum->getResult(0).replaceAllUsesWith(fused.getZ());
      sum->erase();
    }
    giveValueNotes(gradient, fused.getY());
    gradient.replaceAllUsesWith(fused.getY());
    gradient.erase();
    product.op->erase();
    ++gradients;
    joinedSums += !rowSums.empty();
  }
};
} // namespace
} // namespace kedge::schedule
