// Loop nests of movement ops, and what folds without running.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
using Scalars = SmallVectorImpl<Value>;
using Compare = ClusterBodyBuilder::Compare;

/// Domain of the result's shape; `exprs` are the operand's indices.
void describeRead(Value result, ArrayRef<AffineExpr> exprs, ClusterSpec &spec) {
  MLIRContext *context = result.getContext();
  ArrayRef<int64_t> shape = shapeOf(result);
  spec.domain.assign(shape.begin(), shape.end());
  spec.reduced.assign(shape.size(), false);
  spec.inputMaps.push_back(AffineMap::get(shape.size(), 0, exprs, context));
  spec.outputMaps.push_back(AffineMap::getMultiDimIdentityMap(shape.size(), context));
}
} // namespace

OpFoldResult ReshapeOp::fold(FoldAdaptor) { return getData().getType() == getType() ? getData() : Value(); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())) ? getData() : Value();
}

bool TransposeOp::isClusterable() { return false; }

void TransposeOp::describeCluster(ClusterSpec &spec) {
  SmallVector<AffineExpr> exprs(getPerm().size());
  for (auto [to, from] : llvm::enumerate(getPerm()))
    exprs[from] = getAffineDimExpr(to, getContext());
  describeRead(getTransposed(), exprs, spec);
}
void TransposeOp::buildClusterBody(ClusterBodyBuilder &, ValueRange scalars, Scalars &results) {
  results.push_back(scalars[0]);
}

void ExpandOp::buildClusterBody(ClusterBodyBuilder &, ValueRange scalars, Scalars &results) {
  results.push_back(scalars[0]);
}

void TileOp::describeCluster(ClusterSpec &spec) {
  SmallVector<AffineExpr> exprs;
  for (auto [i, size] : llvm::enumerate(shapeOf(getInput()))) {
    AffineExpr dim = getAffineDimExpr(i, getContext());
    bool whole = getRepeats()[i] <= 1 || size == 0;
    exprs.push_back(whole ? dim : size == 1 ? getAffineConstantExpr(0, getContext()) : dim % size);
  }
  describeRead(getOutput(), exprs, spec);
}
void TileOp::buildClusterBody(ClusterBodyBuilder &, ValueRange scalars, Scalars &results) {
  results.push_back(scalars[0]);
}

void SliceOp::describeCluster(ClusterSpec &spec) {
  SmallVector<AffineExpr> exprs;
  for (auto [i, start] : llvm::enumerate(getStarts()))
    exprs.push_back(getAffineDimExpr(i, getContext()) * getSteps()[i] + start);
  describeRead(getOutput(), exprs, spec);
}
void SliceOp::buildClusterBody(ClusterBodyBuilder &, ValueRange scalars, Scalars &results) {
  results.push_back(scalars[0]);
}

void RangeOp::describeCluster(ClusterSpec &spec) {
  describeRead(getOutput(), {}, spec);
  spec.inputMaps.push_back(spec.inputMaps[0]);
}
void RangeOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, Scalars &results) {
  Value at = body.cast(body.index(0), scalars[0].getType());
  results.push_back(body.add(scalars[0], body.mul(at, scalars[1])));
}

void TriluOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, Scalars &results) {
  int64_t rank = rankOf(getInput());
  Value offset = body.sub(body.index(rank - 1), body.index(rank - 2));
  Value diagonal = body.constantInt(offset.getType(), getK());
  bool wasUnsigned = std::exchange(body.isUnsigned, false);
  Value keep = body.compare(getUpper() ? Compare::GE : Compare::LE, offset, diagonal);
  body.isUnsigned = wasUnsigned;
  results.push_back(body.select(keep, scalars[0], body.constantInt(scalars[0].getType(), 0)));
}

void OneHotOp::describeCluster(ClusterSpec &spec) {
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < rankOf(getOutput()); ++i)
    if (i != (int64_t)getAxis())
      exprs.push_back(getAffineDimExpr(i, getContext()));
  describeRead(getOutput(), exprs, spec);
  AffineMap scalar = AffineMap::get(rankOf(getOutput()), 0, {}, getContext());
  spec.inputMaps.append(2, scalar);
}
void OneHotOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, Scalars &results) {
  Value position = body.index(getAxis());
  Value index = body.cast(scalars[0], position.getType(), elementOf(getIndices()).isUnsignedInteger());
  Value fromEnd = body.sub(position, body.constantInt(position.getType(), getDepth()));
  Value hot =
      body.logicalOr(body.compare(Compare::EQ, index, position), body.compare(Compare::EQ, index, fromEnd));
  results.push_back(body.select(hot, scalars[2], scalars[1]));
}

void EyeLikeOp::describeCluster(ClusterSpec &spec) {
  describeRead(getOutput(), {}, spec);
  spec.inputMaps.clear();
}
void EyeLikeOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange, Scalars &results) {
  Value offset = body.sub(body.index(1), body.index(0));
  Value on = body.compare(Compare::EQ, offset, body.constantInt(offset.getType(), getK()));
  Type type = bodyType(getDtype());
  results.push_back(body.select(on, body.constantInt(type, 1), body.constantInt(type, 0)));
}
