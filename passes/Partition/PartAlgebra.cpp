#include "passes/Partition/PartAlgebra.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"

using namespace mlir;

namespace kedge::partition {
namespace {

bool isScalar(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements() == 1; }

/// Whether parts of the op's results can be computed from parts of its operands: all have one shape, but for
/// scalars.
bool computesParts(Operation *op) {
  if (!op || !op->hasTrait<ComputesEachElement>() || op->getNumResults() == 0)
    return false;
  auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  if (shape.empty())
    return false;
  auto fits = [&](Value value) { return cast<RankedTensorType>(value.getType()).getShape() == shape; };
  return llvm::all_of(op->getResults(), fits) &&
         llvm::all_of(op->getOperands(), [&](Value value) { return fits(value) || isScalar(value); });
}

/// Whether the op takes this operand element by element.
bool isWhole(Operation *op, Value operand) {
  return cast<RankedTensorType>(operand.getType()).getShape() ==
         cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}

/// Parts have one dimension: a single element of more would make a matrix of them.
Value asScalar(Operation *op, Value one, PatternRewriter &rewriter) {
  if (rankOf(one) <= 1)
    return one;
  auto flat = onnx::ReshapeOp::create(rewriter, op->getLoc(), one, ArrayRef<int64_t>{});
  setPlace(flat, placeOf(op));
  return flat;
}

/// The op on parts: `partOf` gives those of the operands that it takes element by element.
Operation *asParts(Operation *op, dist::RankGroup group, PatternRewriter &rewriter,
                   function_ref<Value(Value)> partOf) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isWhole(op, operand) ? partOf(operand) : asScalar(op, operand, rewriter));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(dist::localShardOf(type, group.ranks));
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  return rewriter.create(state);
}

/// A gather, or a part, where another op stands: it belongs where that one does.
template <typename OpType> OpType placedAs(Operation *op, OpType made) {
  if (!placeOf(made))
    setPlace(made, placeOf(op));
  return made;
}

struct PartOfElements : PartPattern<dist::LocalShardOp> {
  using PartPattern::PartPattern;

  LogicalResult matchAndRewrite(dist::LocalShardOp part, PatternRewriter &rewriter) const override {
    if (part.getInputs().size() != 1)
      return failure();
    Operation *op = part.getInputs()[0].getDefiningOp();
    if (auto constant = dyn_cast_or_null<onnx::ConstantOp>(op))
      return partOfSplat(part, constant, rewriter);
    if (!computesParts(op))
      return failure();
    const dist::RankGroup group = part.group();
    const StringRef axis = part.getAxis(); // `part` is among those that are replaced
    rewriter.setInsertionPoint(op);
    ++onParts;
    Operation *made = asParts(op, group, rewriter, [&](Value whole) {
      return placedAs(op, dist::LocalShardOp::create(rewriter, part.getLoc(), whole, group)).getResult(0);
    });
    for (auto [whole, own] : llvm::zip(op->getResults(), made->getResults()))
      for (Operation *user : llvm::make_early_inc_range(whole.getUsers()))
        if (auto other = dyn_cast<dist::LocalShardOp>(user);
            other && other.getInputs().size() == 1 && other.getAxis() == axis)
          rewriter.replaceOp(other, own);
    return success();
  }

  static LogicalResult partOfSplat(dist::LocalShardOp part, onnx::ConstantOp constant,
                                   PatternRewriter &rewriter) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return failure();
    rewriter.replaceOpWithNewOp<onnx::ConstantOp>(
        part, splat.resizeSplat(cast<ShapedType>(part.getResult(0).getType())));
    return success();
  }
};

struct GatherBehind : PartPattern<dist::AllGatherOp> {
  using PartPattern::PartPattern;

  LogicalResult matchAndRewrite(dist::AllGatherOp gather, PatternRewriter &rewriter) const override {
    if (gather.getInputs().size() != 1 || !gather.getResult(0).hasOneUse())
      return failure();
    Operation *op = *gather.getResult(0).user_begin();
    if (!computesParts(op) || op->getNumResults() != 1)
      return failure();
    for (Value operand : op->getOperands())
      if (isWhole(op, operand) && !gatheredForOp(operand, gather.getAxis()))
        return failure();
    const dist::RankGroup group = gather.group();
    rewriter.setInsertionPoint(op);
    ++onParts;
    Operation *made = asParts(op, group, rewriter, [](Value whole) {
      return whole.getDefiningOp<dist::AllGatherOp>().getInputs()[0];
    });
    auto whole =
        dist::AllGatherOp::create(rewriter, op->getLoc(), op->getResultTypes(), made->getResults(), group);
    rewriter.replaceOp(op, placedAs(op, whole));
    return success();
  }

  static bool gatheredForOp(Value operand, StringRef axis) {
    auto gather = operand.getDefiningOp<dist::AllGatherOp>();
    return gather && gather.getAxis() == axis && gather.getInputs().size() == 1 && operand.hasOneUse();
  }
};
} // namespace

void populatePartAlgebra(RewritePatternSet &patterns, int64_t &onParts) {
  patterns.add<PartOfElements, GatherBehind>(patterns.getContext(), onParts);
  dist::LocalShardOp::getCanonicalizationPatterns(patterns, patterns.getContext());
}

} // namespace kedge::partition
