#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_JOINSLICES
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// A sum whose terms are gradients of slices.
struct SumOfSlices {
  SmallVector<onnx::AddOp> sums; ///< from the last to the first
  SmallVector<train::SliceGradOp> slices;

  /// Whether there is nothing else in it.
  bool collect(Value value, bool isLast) {
    if (!isLast && !value.hasOneUse())
      return false;
    if (auto slice = value.getDefiningOp<train::SliceGradOp>()) {
      slices.push_back(slice);
      return true;
    }
    auto sum = value.getDefiningOp<onnx::AddOp>();
    if (!sum || sum.getA().getType() != sum.getType() || sum.getB().getType() != sum.getType())
      return false;
    sums.push_back(sum);
    return collect(sum.getA(), false) && collect(sum.getB(), false);
  }
};

/// The only dim of which a slice is a part, all its steps being 1; -1: there are none or several.
int64_t cutDim(train::SliceGradOp slice) {
  int64_t cut = -1;
  for (auto [dim, size] : llvm::enumerate(slice.getShape())) {
    if (slice.getSteps()[dim] != 1)
      return -1;
    if (slice.getStarts()[dim] == 0 && slice.getEnds()[dim] == size)
      continue;
    if (cut >= 0)
      return -1;
    cut = static_cast<int64_t>(dim);
  }
  return cut;
}

struct JoinSlices : impl::JoinSlicesBase<JoinSlices> {
  int64_t joined = 0;

  void run() override {
    joined = 0;
    if (getOperation().isExternal())
      return;
    SmallVector<onnx::AddOp> all(getOperation().getBody().front().getOps<onnx::AddOp>());
    DenseSet<Operation *> done;
    for (onnx::AddOp last : llvm::reverse(all))
      if (!done.contains(last))
        join(last, done);
    addStatistic("slices joined", joined);
  }

  void join(onnx::AddOp last, DenseSet<Operation *> &done) {
    SumOfSlices sum;
    if (!sum.collect(last.getResult(), true))
      return;
    const int64_t dim = cutDim(sum.slices[0]);
    if (dim < 0 || !llvm::all_of(sum.slices, [&](auto slice) { return cutDim(slice) == dim; }))
      return;
    llvm::sort(sum.slices, [&](train::SliceGradOp a, train::SliceGradOp b) {
      return a.getStarts()[dim] < b.getStarts()[dim];
    });
    int64_t covered = 0;
    for (train::SliceGradOp slice : sum.slices) {
      if (slice.getStarts()[dim] != covered)
        return;
      covered = slice.getEnds()[dim];
    }
    if (covered == shapeOf(last.getResult())[dim])
      replace(sum, dim, done);
  }

  void replace(const SumOfSlices &sum, int64_t dim, DenseSet<Operation *> &done) {
    onnx::AddOp last = sum.sums.front();
    PlacedBuilder builder(last);
    SmallVector<Value> parts;
    for (train::SliceGradOp slice : sum.slices)
      parts.push_back(slice.getDY());
    auto whole = onnx::ConcatOp::create(builder, last.getLoc(), ValueRange(parts), dim);
    copyValueNotes(last, whole);
    last.replaceAllUsesWith(whole.getResult());
    for (onnx::AddOp each : sum.sums) {
      done.insert(each);
      each.erase();
    }
    for (train::SliceGradOp slice : sum.slices)
      slice.erase();
    joined += static_cast<int64_t>(sum.slices.size());
  }
};
} // namespace
} // namespace kedge::schedule
