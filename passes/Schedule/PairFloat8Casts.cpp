#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "passes/Schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_PAIRFLOAT8CASTS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// The cast whose result, as a matrix, is transposed.
train::Float8CastOp castOf(onnx::TransposeOp transpose) {
  if (transpose.getPerm() != ArrayRef<int64_t>{1, 0})
    return {};
  Value whole = transpose.getData();
  while (auto reshape = whole.getDefiningOp<onnx::ReshapeOp>())
    whole = reshape.getData();
  return whole.getDefiningOp<train::Float8CastOp>();
}

struct PairFloat8Casts : impl::PairFloat8CastsBase<PairFloat8Casts> {
  void run() override {
    llvm::MapVector<Operation *, SmallVector<onnx::TransposeOp>> transposes;
    getOperation().walk([&](onnx::TransposeOp transpose) {
      if (train::Float8CastOp cast = castOf(transpose))
        transposes[cast].push_back(transpose);
    });
    for (auto &[cast, readers] : transposes)
      pair(mlir::cast<train::Float8CastOp>(cast), readers);
    addStatistic("casts paired", transposes.size());
  }

  /// Transposes of another shape than the first one's stay.
  static void pair(train::Float8CastOp cast, ArrayRef<onnx::TransposeOp> transposes) {
    PlacedBuilder builder(cast);
    onnx::TransposeOp first = transposes.front();
    Value matrix =
        builder.createOrFold<onnx::ReshapeOp>(cast.getLoc(), cast.getX(), shapeOf(first.getData()));
    auto both = train::Float8CastBothOp::create(builder, cast.getLoc(), matrix, cast.getScale(),
                                                TypeAttr::get(cast.getTo()));
    Value whole =
        builder.createOrFold<onnx::ReshapeOp>(cast.getLoc(), both.getResult(), shapeOf(cast.getResult()));
    for (onnx::TransposeOp transpose : transposes)
      if (transpose.getType() == both.getTransposed().getType()) {
        transpose.replaceAllUsesWith(both.getTransposed());
        transpose.erase();
      }
    cast.replaceAllUsesWith(whole);
    cast.erase();
  }
};
} // namespace
} // namespace kedge::schedule
