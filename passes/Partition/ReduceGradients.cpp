#include "lib/Dialect/Dist/CollectiveOps.h"
#include "lib/Dialect/Kedge/Place.h"
#include "lib/Dialect/Train/Bindings.h"
#include "lib/Support/Statistics.h"
#include "lib/Support/StorageBytes.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_REDUCEGRADIENTS
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// Gradients that travel together.
using Bucket = SmallVector<OpOperand *>;

struct ReduceGradients : impl::ReduceGradientsBase<ReduceGradients> {
  using Base::Base;

  void runOnOperation() override {
    if (ranks < 1 || bucketBytes < 0) {
      getOperation().emitError() << "ranks = " << ranks.getValue() << ", bucket-bytes = " << bucketBytes.getValue()
                                 << ": expected 1 or more ranks, and bytes that are not negative";
      return signalPassFailure();
    }
    if (ranks == 1)
      return;
    auto axis = StringAttr::get(&getContext(), dist::dataAxis);
    getOperation()->setAttr(dist::meshName, dist::MeshAttr::get(&getContext(), {axis}, {ranks.getValue()}));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        reduceIn(function);
  }

  void reduceIn(func::FuncOp function) {
    Bucket bucket;
    int64_t bytes = 0;
    for (OpOperand *gradient : inOrder(function)) {
      addStatistic("kedge-reduce-gradients", "gradients", 1);
      addStatistic("kedge-reduce-gradients", "bytes", bytesOf(gradient->get().getType()));
      if (cast<RankedTensorType>(gradient->get().getType()).getRank() == 0) {
        reduceScalar(*gradient);
        continue;
      }
      bucket.push_back(gradient);
      bytes += bytesOf(gradient->get().getType());
      if (bytes < bucketBytes)
        continue;
      reduce(bucket);
      bucket.clear();
      bytes = 0;
    }
    if (!bucket.empty())
      reduce(bucket);
  }

  /// The returned gradients in the order in which they are made; a function's arguments come first.
  static SmallVector<OpOperand *> inOrder(func::FuncOp function) {
    Block &block = function.getBody().front();
    DenseMap<Operation *, int64_t> position;
    for (Operation &op : block)
      position[&op] = static_cast<int64_t>(position.size()) + 1;
    SmallVector<OpOperand *> gradients;
    for (OpOperand &returned : block.getTerminator()->getOpOperands())
      if (train::bindingOfResult(function, returned.getOperandNumber(), train::BindingKind::Gradient))
        gradients.push_back(&returned);
    llvm::stable_sort(gradients, [&](OpOperand *a, OpOperand *b) {
      return position.lookup(a->get().getDefiningOp()) < position.lookup(b->get().getDefiningOp());
    });
    return gradients;
  }

  /// Sets the builder right behind what makes the value.
  static void moveBehind(OpBuilder &builder, Value value, PlacedBuilder &placed) {
    builder.setInsertionPointAfterValue(value);
    if (PlaceAttr place = placeOfMaker(value))
      placed.enter(place.in(TrainingPhase::Update));
    else
      placed.enter(PlaceAttr::get(value.getContext(), TrainingPhase::Update, "", "gradients"));
  }

  void reduceScalar(OpOperand &gradient) {
    PlacedBuilder builder(gradient.getOwner());
    moveBehind(builder, gradient.get(), builder);
    gradient.set(dist::AllReduceOp::create(builder, gradient.get().getLoc(), gradient.get(), ranks, "sum").getResult(0));
  }

  void reduce(const Bucket &bucket) {
    Value last = bucket.back()->get();
    PlacedBuilder builder(bucket.back()->getOwner());
    moveBehind(builder, last, builder);
    if (late)
      builder.setInsertionPoint(bucket.back()->getOwner());
    SmallVector<Value> gradients;
    for (OpOperand *gradient : bucket)
      gradients.push_back(gradient->get());
    auto parts = dist::ReduceScatterOp::create(builder, last.getLoc(), gradients, ranks);
    auto wholes = dist::AllGatherOp::create(builder, last.getLoc(), ValueRange(gradients).getTypes(), parts.getOutputs(), ranks);
    for (auto [gradient, whole] : llvm::zip(bucket, wholes.getOutputs()))
      gradient->set(whole);
    addStatistic("kedge-reduce-gradients", "buckets", 1);
  }
};
} // namespace
} // namespace kedge::partition
