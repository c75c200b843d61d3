// Bodies of the reductions and of softmax.
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

using Compare = ClusterBodyBuilder::Compare;

/// Elements of one reduction.
static int64_t reductionSize(Value x, ArrayRef<int64_t> axes) {
  int64_t size = 1;
  for (int64_t axis : axes)
    size *= shapeOf(x)[axis];
  return size;
}

/// The mean of no integers is 0, of no floats NaN.
static Value mean(ClusterBodyBuilder &body, Value x, int64_t size) {
  bool isFloat = isa<FloatType>(x.getType());
  return body.div(body.sum(x), body.constantInt(x.getType(), isFloat ? size : std::max<int64_t>(size, 1)));
}

/// Evaluates `formula` in floating point; integers go through f64.
template <typename Formula> static Value inFloat(ClusterBodyBuilder &body, Value x, Formula formula) {
  Type type = x.getType();
  if (isa<FloatType>(type))
    return formula(x);
  return body.cast(formula(body.cast(x, body.builder.getF64Type(), body.isUnsigned)), type, false,
                   body.isUnsigned);
}

/// The reduction's maximum, or 0 where it is infinite: what may be subtracted before exp.
static Value finiteMaximum(ClusterBodyBuilder &body, Value x) {
  Value maximum = body.max(x);
  Value infinity = body.constant(x.getType(), std::numeric_limits<double>::infinity());
  Value infinite = body.compare(Compare::EQ, body.abs(maximum), infinity);
  return body.select(infinite, body.constant(x.getType(), 0), maximum);
}

static Value logSumExp(ClusterBodyBuilder &body, Value x) {
  return inFloat(body, x, [&](Value v) {
    Value shift = finiteMaximum(body, v);
    return body.add(body.log(body.sum(body.exp(body.sub(v, shift)))), shift);
  });
}

static Value euclidean(ClusterBodyBuilder &body, Value x) {
  return inFloat(body, x, [&](Value v) { return body.sqrt(body.sum(body.mul(v, v))); });
}

static Value logSum(ClusterBodyBuilder &body, Value x) {
  return inFloat(body, x, [&](Value v) { return body.log(body.sum(v)); });
}

KEDGE_UNARY_BODY(ReduceSumOp, body.sum(x))
KEDGE_UNARY_BODY(ReduceMeanOp, mean(body, x, reductionSize(getX(), getAxes())))
KEDGE_UNARY_BODY(ReduceMaxOp, body.max(x))
KEDGE_UNARY_BODY(ReduceMinOp, body.reduce(ClusterReduction::Min, x))
KEDGE_UNARY_BODY(ReduceProdOp, body.reduce(ClusterReduction::Mul, x))
KEDGE_UNARY_BODY(ReduceL1Op, body.sum(body.abs(x)))
KEDGE_UNARY_BODY(ReduceL2Op, euclidean(body, x))
KEDGE_UNARY_BODY(ReduceLogSumOp, logSum(body, x))
KEDGE_UNARY_BODY(ReduceLogSumExpOp, logSumExp(body, x))
KEDGE_UNARY_BODY(ReduceSumSquareOp, body.sum(body.mul(x, x)))

template <typename Op> static void describeAlongAxis(Op op, ClusterSpec &spec) {
  describeBroadcast(op.getOperation(), spec);
  spec.reduced[op.getAxis()] = true;
}

void SoftmaxOp::describeCluster(ClusterSpec &spec) { describeAlongAxis(*this, spec); }
void LogSoftmaxOp::describeCluster(ClusterSpec &spec) { describeAlongAxis(*this, spec); }

static Value softmax(ClusterBodyBuilder &body, Value x) {
  Value exponential = body.exp(body.sub(x, body.max(x)));
  return body.div(exponential, body.sum(exponential));
}

static Value logSoftmax(ClusterBodyBuilder &body, Value x) {
  Value shifted = body.sub(x, body.max(x));
  return body.sub(shifted, body.log(body.sum(body.exp(shifted))));
}

KEDGE_UNARY_BODY(SoftmaxOp, softmax(body, x))
KEDGE_UNARY_BODY(LogSoftmaxOp, logSoftmax(body, x))
