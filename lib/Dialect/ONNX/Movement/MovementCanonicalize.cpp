// Simplifications of views and transposes.
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kedge;

namespace {
/// Exporters transpose the last two dims of [L.., m, n] as [prod L, m, n]: split the leading dims first, so
/// that the reshapes around meet.
struct SplitBeforeTranspose : OpRewritePattern<onnx::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::ReshapeOp outer, PatternRewriter &rewriter) const override {
    auto transpose = outer.getData().getDefiningOp<onnx::TransposeOp>();
    if (!transpose || transpose.getPerm() != ArrayRef<int64_t>{0, 2, 1})
      return failure();
    ArrayRef<int64_t> merged = shapeOf(transpose.getTransposed()), to = outer.getShape();
    size_t rank = to.size();
    if (rank < 4 || to.take_back(2) != merged.take_back(2))
      return failure();
    SmallVector<int64_t> split(to);
    std::swap(split[rank - 2], split[rank - 1]);
    Value data = onnx::ReshapeOp::create(rewriter, outer.getLoc(), transpose.getData(),
                                         rewriter.getDenseI64ArrayAttr(split));
    auto perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(perm[rank - 2], perm[rank - 1]);
    PlaceAttr place = placeOf(outer);
    setPlace(data.getDefiningOp(), place);
    setPlace(rewriter.replaceOpWithNewOp<onnx::TransposeOp>(outer, data, rewriter.getDenseI64ArrayAttr(perm)),
             place);
    return success();
  }
};
/// A view of a view is a view of the first.
struct MergeReshapes : OpRewritePattern<onnx::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(onnx::ReshapeOp outer, PatternRewriter &rewriter) const override {
    auto inner = outer.getData().getDefiningOp<onnx::ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.modifyOpInPlace(outer, [&] { outer.getDataMutable().assign(inner.getData()); });
    return success();
  }
};
} // namespace

void onnx::ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SplitBeforeTranspose, MergeReshapes>(context);
}
