#include "passes/Adapters/Magnitude.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::adapters {
namespace {

struct Product : GradientBuilder {
  Product(OpBuilder &builder, const MagnitudeSite &given)
      : GradientBuilder{builder, given.site.op->getLoc()}, given(given),
        gemm(dyn_cast<onnx::GemmOp>(given.site.op)) {}

  const MagnitudeSite &given;
  onnx::GemmOp gemm;

  Value transposed(Value x) { return onnx::TransposeOp::create(builder, loc, x, ArrayRef<int64_t>{1, 0}); }
  bool turnsX() { return gemm ? gemm.getTransA() : mlir::cast<onnx::MatMulOp>(given.site.op).getTransA(); }
  double alpha() { return gemm ? gemm.getAlpha().convertToDouble() : 1; }

  /// m / |w + scale B A|, [out].
  Value factor() {
    Value weight = given.site.outFirst ? given.weight : transposed(given.weight);
    Value sum =
        onnx::GemmOp::create(builder, loc, given.b, given.a, weight, /*transA=*/false, /*transB=*/false,
                             APFloat(static_cast<float>(given.scale)), APFloat(1.0f));
    Value squares = onnx::ReduceSumSquareOp::create(builder, loc, sum, ArrayRef<int64_t>{1}, false);
    Value norm = onnx::SqrtOp::create(builder, loc, squares);
    norm = onnx::IdentityOp::create(builder, loc, norm, /*stops_gradient=*/true);
    return div(given.m, norm);
  }

  /// The product of the given input without a bias.
  Value productOf(Value x) {
    if (gemm)
      return onnx::GemmOp::create(builder, loc, x, gemm.getB(), Value(), gemm.getTransA(), gemm.getTransB(),
                                  gemm.getAlpha(), APFloat(1.0f));
    auto matmul = mlir::cast<onnx::MatMulOp>(given.site.op);
    return onnx::MatMulOp::create(builder, loc, x, matmul.getB(), matmul.getTransA(), matmul.getTransB());
  }

  Value adapted(Value product) {
    Value low = onnx::MatMulOp::create(builder, loc, given.x, given.a, turnsX(), /*transB=*/true);
    return onnx::GemmOp::create(builder, loc, low, given.b, product, /*transA=*/false, /*transB=*/true,
                                APFloat(static_cast<float>(given.scale * alpha())), APFloat(1.0f));
  }

  Value build() {
    Operation *op = given.site.op;
    const bool drops = given.x != op->getOperand(0);
    Value bias = gemm ? gemm.getC() : Value(), scale = factor();
    Value whole;
    if (drops) { // x w + (m' - 1) x' w + m' scale B(A(x'))
      Value own = productOf(given.x);
      whole = sub(add(productOf(op->getOperand(0)), mul(scale, adapted(own))), own);
    } else {
      whole = mul(scale, adapted(productOf(given.x)));
    }
    if (!bias)
      return whole;
    const double beta = gemm.getBeta().convertToDouble();
    return add(whole, beta == 1 ? bias : this->scale(bias, beta));
  }
};
} // namespace

void withMagnitude(OpBuilder &builder, const MagnitudeSite &site) {
  Value y = site.site.op->getResult(0);
  Value whole = Product(builder, site).build();
  y.replaceAllUsesWith(whole);
  site.site.op->erase();
}

} // namespace kedge::adapters
