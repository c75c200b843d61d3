// Attention and rotary embedding.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Dialect/Train/Gradient/GradientAttentionMask.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// [B, H, T, D] of an operand in its layout; empty when the rank does not fit.
SmallVector<int64_t> logicalShape(Value v, AttentionLayout layout) {
  ArrayRef<int64_t> s = shapeOf(v);
  if (s.size() != 4)
    return {};
  return layout == AttentionLayout::BHTD ? SmallVector<int64_t>(s)
                                         : SmallVector<int64_t>{s[0], s[2], s[1], s[3]};
}
/// Of the runs of so many queries. `places` may be null.
LogicalResult checkPlaces(std::optional<Location> loc, Value places, int64_t queries, bool hasDocuments) {
  if (!places)
    return success();
  ArrayRef<int64_t> shape = shapeOf(places);
  if (shape.size() != 1 || shape[0] < 1 || queries % shape[0] != 0 ||
      !elementOf(places).isSignlessInteger(64))
    return emitOptionalError(loc, "places ", places.getType(), " of ", queries,
                             " queries: expected i64 [C] with as many in each of C runs");
  if (hasDocuments)
    return emitOptionalError(loc, "queries at places of their own do not go with documents yet");
  return success();
}
} // namespace

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto q = logicalShape(adaptor.getQ(), adaptor.getQLayout());
  auto k = logicalShape(adaptor.getK(), adaptor.getKLayout());
  auto v = logicalShape(adaptor.getV(), adaptor.getVLayout());
  if (q.empty() || k.empty() || v.empty())
    return emitOptionalError(loc, "attention needs Q, K, V of rank 4");
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[1] == 0 || q[1] % k[1] != 0 || k[2] != v[2] ||
      q[3] != k[3])
    return emitOptionalError(loc, "Q ", adaptor.getQ().getType(), ", K ", adaptor.getK().getType(), " and V ",
                             adaptor.getV().getType(), " do not fit");
  if (Value mask = adaptor.getMask()) {
    SmallVector<int64_t> scores = {q[0], q[1], q[2], k[2]};
    auto shape = broadcastShapes(loc, {scores, shapeOf(mask)});
    if (failed(shape) || *shape != scores)
      return emitOptionalError(loc, "mask ", mask.getType(), " does not broadcast to the scores of batch ",
                               q[0], ", ", q[1], " heads, ", q[2], " queries, ", k[2], " keys");
  }
  if (Value documents = adaptor.getDocuments();
      documents && (q[2] != k[2] || shapeOf(documents) != ArrayRef<int64_t>{q[0], q[2] + 1} ||
                    !elementOf(documents).isSignlessInteger(64)))
    return emitOptionalError(loc, "documents ", documents.getType(), " are no borders of ", q[0], " rows of ",
                             q[2], " queries and as many keys: expected i64 [", q[0], ", ", q[2] + 1, "]");
  if (failed(checkPlaces(loc, adaptor.getPlaces(), q[2], bool(adaptor.getDocuments()))))
    return failure();
  if (Value sinks = adaptor.getSinks();
      sinks && (shapeOf(sinks) != ArrayRef<int64_t>{q[1]} || !isa<FloatType>(elementOf(sinks))))
    return emitOptionalError(loc, "sinks ", sinks.getType(), " are no scores of ", q[1], " heads");
  SmallVector<int64_t> o = {q[0], q[1], q[2], v[3]};
  if (adaptor.getOLayout() == AttentionLayout::BTHD)
    std::swap(o[1], o[2]);
  Type element = elementOf(adaptor.getQ());
  types.push_back(RankedTensorType::get(o, element));
  types.push_back(RankedTensorType::get({q[0], q[1], q[2]}, statType(element)));
  return success();
}

namespace {
/// What both directions say of their dropout. `batch`: of Q.
template <typename Op> LogicalResult verifyDropout(Op op, int64_t batch) {
  double ratio = op.getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio <= 1))
    return op.emitOpError("has ratio ") << ratio << ", expected one of [0, 1]";
  OperandRange random = op.getRandom();
  if (!random.empty() && (random.size() != 3 || ratio == 0))
    return op.emitOpError("has ratio ")
           << ratio << " and " << random.size()
           << " random operands, expected seed, step and row_base with a ratio above 0";
  int64_t rowSize = op.getRowSize();
  if (rowSize < 1 || batch % rowSize != 0)
    return op.emitOpError("has row_size ") << rowSize << ", which does not divide the batch of " << batch;
  return success();
}
} // namespace

LogicalResult AttentionOp::verify() {
  for (StringRef old : {"causal", "causal_offset"})
    if ((*this)->hasAttr(old))
      return emitOpError("has '") << old << "', which is written sees(causal) now, or sees(right = N)";
  return verifyDropout(*this, shapeOf(getLSE())[0]);
}

/// Weights and their gradients, once for queries and once for keys: two products of five.
double AttentionGradOp::repeatedShare() { return 2.0 / 5; }

LogicalResult AttentionGradOp::verify() {
  if (!getRatio().isZero() && getRandom().empty())
    return emitOpError("has a ratio above 0 without seed, step and row_base");
  return verifyDropout(*this, shapeOf(getLSE())[0]);
}

/// Those between mask and sinks are integers, which no gradient passes anyway.
bool AttentionOp::isDifferentiableOperand(unsigned) { return true; }

LogicalResult AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[1])
    return emitOpError("has no gradient through its log-sum-exp");
  if (getTrainingMode() && getRandom().empty() && !getRatio().isZero())
    return emitOpError("drops out in training, which the step's builder binds to its random numbers first");
  auto grad = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(), resultGrads[0], getQ(), getK(),
      getV(), getO(), getLSE(), getMask(), getRandom(), getDocuments(), getPlaces(), getScaleAttr(),
      getVisibleAttr(), getSoftcapAttr(), getQLayoutAttr(), getKLayoutAttr(), getVLayoutAttr(),
      getOLayoutAttr(), getRatioAttr(), getOpIdAttr(), getRowSizeAttr());
  operandGrads.append({grad.getDQ(), grad.getDK(), grad.getDV()});
  if (getMask())
    operandGrads.push_back(attentionMaskGradient(builder, *this, resultGrads[0]));
  if (getDocuments() && getMask() && operandGrads.back())
    return emitOpError("has no gradient of its mask between the borders of documents");
  operandGrads.resize(getNumOperands());
  if (getSinks())
    operandGrads.back() = attentionSinkGradient(builder, *this, resultGrads[0]);
  return success();
}

//===--- Rotary embedding -------------------------------------------------------------------------------===//

namespace {
/// Domain [leading dims, 2, D/2] (or D/2, 2 when interleaved): which of the pair, and the pair.
struct RotaryNest {
  SmallVector<int64_t> domain;
  unsigned which, pair;
  AffineMap here, partner;

  RotaryNest(MLIRContext *context, ArrayRef<int64_t> shape, bool interleaved) {
    unsigned leading = shape.size() - 1;
    int64_t half = shape.back() / 2;
    domain.assign(shape.begin(), shape.end() - 1);
    which = interleaved ? leading + 1 : leading;
    pair = interleaved ? leading : leading + 1;
    domain.append({interleaved ? half : 2, interleaved ? 2 : half});
    AffineExpr w = getAffineDimExpr(which, context), p = getAffineDimExpr(pair, context);
    AffineExpr other = 1 - w;
    here = lastDim(context, shape, interleaved ? p * 2 + w : w * half + p);
    partner = lastDim(context, shape, interleaved ? p * 2 + other : other * half + p);
  }

  /// Indices of a tensor of X's leading dims (broadcast) whose last index is `last`.
  AffineMap lastDim(MLIRContext *context, ArrayRef<int64_t> shape, AffineExpr last) const {
    SmallVector<AffineExpr> exprs;
    unsigned leading = domain.size() - 2, skipped = leading + 1 - shape.size();
    for (unsigned dim = 0; dim + 1 < shape.size(); ++dim)
      exprs.push_back(shape[dim] == 1 && domain[dim + skipped] != 1
                          ? getAffineConstantExpr(0, context)
                          : getAffineDimExpr(dim + skipped, context));
    exprs.push_back(last);
    return AffineMap::get(domain.size(), 0, exprs, context);
  }
};
} // namespace

LogicalResult RotaryOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX());
  if (x.getRank() == 0 || x.getShape().back() % 2 != 0 || adaptor.getPartner().getType() != x)
    return emitOptionalError(loc, "rotary embedding needs X twice, with an even last dim, found ", x, " and ",
                             adaptor.getPartner().getType());
  for (Value angles : {adaptor.getCos(), adaptor.getSin()}) {
    ArrayRef<int64_t> shape = shapeOf(angles);
    bool lastFits =
        !shape.empty() && (shape.back() == x.getShape().back() || shape.back() * 2 == x.getShape().back());
    if (!lastFits || (int64_t)shape.size() > x.getRank())
      return emitOptionalError(loc, "angles ", angles.getType(), " do not fit ", x);
    auto leading = broadcastShapes(loc, {x.getShape().drop_back(), shape.drop_back()});
    if (failed(leading) || ArrayRef<int64_t>(*leading) != x.getShape().drop_back())
      return emitOptionalError(loc, "angles ", angles.getType(), " do not broadcast to ", x);
  }
  types.push_back(x);
  return success();
}

void RotaryOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  ArrayRef<int64_t> shape = shapeOf(getX());
  RotaryNest nest(context, shape, getInterleaved());
  spec.domain = nest.domain;
  spec.reduced.assign(nest.domain.size(), false);
  auto angleMap = [&](Value angles, AffineMap full) {
    bool shared = shapeOf(angles).back() != shape.back();
    AffineExpr last = shared ? getAffineDimExpr(nest.pair, context) : full.getResults().back();
    return nest.lastDim(context, shapeOf(angles), last);
  };
  // The transpose reads the sine of the element that the partner's value went to.
  AffineMap sinMap = angleMap(getSin(), getInverse() ? nest.partner : nest.here);
  spec.inputMaps = {nest.here, nest.partner, angleMap(getCos(), nest.here), sinMap};
  spec.outputMaps = {nest.here};
}

void RotaryOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                SmallVectorImpl<Value> &results) {
  using Compare = ClusterBodyBuilder::Compare;
  Type type = scalars[0].getType();
  RotaryNest nest(getContext(), shapeOf(getX()), getInterleaved());
  Value which = body.index(nest.which);
  Value first = body.compare(Compare::EQ, which, body.constantInt(which.getType(), getInverse() ? 1 : 0));
  Value sin = body.cast(scalars[3], type);
  Value kept = body.mul(scalars[0], body.cast(scalars[2], type));
  Value transposed = body.mul(scalars[1], body.select(first, body.neg(sin), sin));
  results.push_back(body.add(kept, transposed));
}

bool RotaryOp::isDifferentiableOperand(unsigned index) { return index == 0; }

// X's own and its partner's gradient are one rotation back, given whole to the first of the two operands.
LogicalResult RotaryOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  Value dX = RotaryOp::create(builder, getLoc(), resultGrads[0], resultGrads[0], getCos(), getSin(),
                              getInterleaved(), !getInverse());
  operandGrads.append({dX, Value(), Value(), Value()});
  return success();
}
