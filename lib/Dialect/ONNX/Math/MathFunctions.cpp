// Bodies and gradients of functions of one variable.
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

using Compare = ClusterBodyBuilder::Compare;

/// Sign of zero and NaN is the operand itself.
static Value signOf(ClusterBodyBuilder &body, Value x) {
  Type type = x.getType();
  Value zero = body.constantInt(type, 0);
  Value positive = body.compare(Compare::GT, x, zero);
  if (body.isUnsigned)
    return body.select(positive, body.constantInt(type, 1), zero);
  Value negative = body.compare(Compare::LT, x, zero);
  return body.select(positive, body.constantInt(type, 1),
                     body.select(negative, body.constantInt(type, -1), x));
}

KEDGE_UNARY_BODY(AbsOp, body.abs(x))
KEDGE_UNARY_BODY(ReciprocalOp, body.div(body.constant(x.getType(), 1), x))
KEDGE_UNARY_BODY(SqrtOp, body.sqrt(x))
KEDGE_UNARY_BODY(ExpOp, body.exp(x))
KEDGE_UNARY_BODY(LogOp, body.log(x))
KEDGE_UNARY_BODY(ErfOp, body.erf(x))
KEDGE_UNARY_BODY(SinOp, body.sin(x))
KEDGE_UNARY_BODY(CosOp, body.cos(x))
KEDGE_UNARY_BODY(TanOp, body.math<math::TanOp>(x))
KEDGE_UNARY_BODY(AsinOp, body.math<math::AsinOp>(x))
KEDGE_UNARY_BODY(AcosOp, body.math<math::AcosOp>(x))
KEDGE_UNARY_BODY(AtanOp, body.math<math::AtanOp>(x))
KEDGE_UNARY_BODY(SinhOp, body.math<math::SinhOp>(x))
KEDGE_UNARY_BODY(CoshOp, body.math<math::CoshOp>(x))
KEDGE_UNARY_BODY(AsinhOp, body.math<math::AsinhOp>(x))
KEDGE_UNARY_BODY(AcoshOp, body.math<math::AcoshOp>(x))
KEDGE_UNARY_BODY(AtanhOp, body.math<math::AtanhOp>(x))
KEDGE_UNARY_BODY(SignOp, signOf(body, x))
KEDGE_UNARY_BODY(CeilOp, body.ceil(x))
KEDGE_UNARY_BODY(FloorOp, body.floor(x))
KEDGE_UNARY_BODY(RoundOp, body.roundEven(x))

#define KEDGE_ZERO_GRADIENT(Op)                                                                              \
  LogicalResult Op::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &operandGrads) {           \
    operandGrads.push_back({});                                                                              \
    return success();                                                                                        \
  }                                                                                                          \
  bool Op::isDifferentiableOperand(unsigned) { return false; }

KEDGE_ZERO_GRADIENT(SignOp)
KEDGE_ZERO_GRADIENT(CeilOp)
KEDGE_ZERO_GRADIENT(FloorOp)
KEDGE_ZERO_GRADIENT(RoundOp)
