// train.reduce_grad: the scalar gradients of the reductions.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

using Compare = ClusterBodyBuilder::Compare;

namespace {
/// Scalars at hand: the gradient of the result, and where saved the forward operand and result.
struct Point {
  ClusterBodyBuilder &body;
  Value grad, x, y;
  int64_t count; // elements of one reduction

  Type type() const { return grad.getType(); }
  Value number(double value) const { return body.constant(type(), value); }
  Value isZero(Value v) const { return body.compare(Compare::EQ, v, number(0)); }
};

struct Gradient {
  Value (*build)(const Point &);
  unsigned saved;
};
} // namespace

static Value sumGradient(const Point &p) { return p.grad; }
static Value meanGradient(const Point &p) { return p.body.div(p.grad, p.number(p.count)); }

/// All elements that equal the extremum share its gradient evenly (PyTorch's amax, amin).
static Value extremumGradient(const Point &p) {
  Value hit = p.body.select(p.body.compare(Compare::EQ, p.x, p.y), p.number(1), p.number(0));
  return p.body.mul(hit, p.body.div(p.grad, p.body.sum(hit)));
}

/// The product of the other elements; with one zero only that element has a gradient, with two none has.
static Value prodGradient(const Point &p) {
  ClusterBodyBuilder &body = p.body;
  Value zero = p.isZero(p.x);
  Value nonZero = body.select(zero, p.number(1), p.x);
  Value product = body.reduce(ClusterReduction::Mul, nonZero);
  Value zeros = body.sum(body.select(zero, p.number(1), p.number(0)));
  Value othersZero =
      body.compare(Compare::GT, body.sub(zeros, body.select(zero, p.number(1), p.number(0))), p.number(0));
  Value others = body.select(othersZero, p.number(0), body.div(product, nonZero));
  return body.mul(p.grad, others);
}

static Value l1Gradient(const Point &p) {
  ClusterBodyBuilder &body = p.body;
  Value negative = body.compare(Compare::LT, p.x, p.number(0));
  Value sign = body.select(p.isZero(p.x), p.number(0), body.select(negative, p.number(-1), p.number(1)));
  return body.mul(p.grad, sign);
}

/// Zero where the norm is zero, as PyTorch chooses.
static Value l2Gradient(const Point &p) {
  Value slope = p.body.div(p.x, p.y);
  return p.body.mul(p.grad, p.body.select(p.isZero(p.y), p.number(0), slope));
}

static Value logSumGradient(const Point &p) { return p.body.div(p.grad, p.body.sum(p.x)); }

/// A reduction whose elements are all -inf has no gradient.
static Value logSumExpGradient(const Point &p) {
  Value share = p.body.exp(p.body.sub(p.x, p.y));
  Value empty = p.body.compare(Compare::EQ, p.y, p.number(-std::numeric_limits<double>::infinity()));
  return p.body.mul(p.grad, p.body.select(empty, p.number(0), share));
}

static Value sumSquareGradient(const Point &p) { return p.body.mul(p.grad, p.body.add(p.x, p.x)); }

/// In the order of ReduceFunction.
static constexpr Gradient kGradients[] = {{sumGradient, 0},      {meanGradient, 0},   {extremumGradient, 2},
                                          {extremumGradient, 2}, {prodGradient, 1},   {l1Gradient, 1},
                                          {l2Gradient, 2},       {logSumGradient, 1}, {logSumExpGradient, 2},
                                          {sumSquareGradient, 1}};
static_assert(std::size(kGradients) == getMaxEnumValForReduceFunction() + 1);

static const Gradient &gradientOf(ReduceFunction function) {
  return kGradients[static_cast<size_t>(function)];
}

LogicalResult ReduceGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(adaptor.getShape(), elementOf(adaptor.getGrad())));
  return success();
}

LogicalResult ReduceGradOp::verify() {
  const unsigned saved = gradientOf(getFunction()).saved;
  if (getSaved().size() != saved)
    return emitOpError("of '") << stringifyEnum(getFunction()) << "' has " << getSaved().size()
                               << " saved values, expected " << saved;
  return success();
}

/// From the domain to the gradient: the dims `axes` dropped or at index 0.
static AffineMap reductionMap(ReduceGradOp op) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0, rank = op.getShape().size(); dim < rank; ++dim) {
    if (!llvm::is_contained(op.getAxes(), dim))
      exprs.push_back(getAffineDimExpr(dim, context));
    else if (op.getKeepdims())
      exprs.push_back(getAffineConstantExpr(0, context));
  }
  return AffineMap::get(op.getShape().size(), 0, exprs, context);
}

void ReduceGradOp::describeCluster(ClusterSpec &spec) {
  ArrayRef<int64_t> shape = getShape();
  AffineMap point = AffineMap::getMultiDimIdentityMap(shape.size(), getContext()),
            reduction = reductionMap(*this);
  spec.domain.assign(shape.begin(), shape.end());
  spec.reduced.assign(shape.size(), false);
  // Gradients that reduce again reduce the forward's axes; the others are plain loops.
  using enum ReduceFunction;
  if (llvm::is_contained({Max, Min, Prod, LogSum}, getFunction()))
    for (int64_t axis : getAxes())
      spec.reduced[axis] = true;
  spec.inputMaps.push_back(reduction);
  for (unsigned k = 0; k < getSaved().size(); ++k)
    spec.inputMaps.push_back(k == 0 ? point : reduction);
  spec.outputMaps.push_back(point);
}

void ReduceGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                    SmallVectorImpl<Value> &results) {
  int64_t count = 1;
  for (int64_t axis : getAxes())
    count *= getShape()[axis];
  Value x = scalars.size() > 1 ? scalars[1] : Value(), y = scalars.size() > 2 ? scalars[2] : Value();
  results.push_back(gradientOf(getFunction()).build({body, scalars[0], x, y, count}));
}
