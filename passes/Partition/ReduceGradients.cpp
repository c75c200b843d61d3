#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ContextAxis.h"
#include "kedge/Dialect/Dist/ExpertAxis.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_REDUCEGRADIENTS
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// Gradients that travel together.
using Bucket = SmallVector<OpOperand *>;

/// An axis of the mesh; `summed`: gradients are sums over it already, so that a rank takes its part of them.
struct Along {
  dist::RankGroup group;
  bool summed = false;
};

struct ReduceGradients : impl::ReduceGradientsBase<ReduceGradients> {
  using Base::Base;

  void run() override {
    if (bucketBytes < 0) {
      getOperation().emitError() << "bucket-bytes = " << bucketBytes.getValue()
                                 << ": expected bytes that are not negative";
      return signalPassFailure();
    }
    const dist::RankGroup data = dist::dataGroup(getOperation()),
                          replica = dist::replicaGroup(getOperation());
    if (over != "all" && over != "data" && over != "replica") {
      getOperation().emitError() << "over = " << over.getValue() << ": expected all, data or replica";
      return signalPassFailure();
    }
    all = over == "all" ? dist::gradientGroup(getOperation()) : over == "data" ? data : replica;
    if (all.isAlone())
      return;
    for (bool ofExperts : {false, true}) {
      const dist::RankGroup own = ofExperts ? dist::partGroup(getOperation(), ofAnyExpert()) : data;
      groups.clear();
      if (!own.isAlone())
        groups.push_back({own, over == "replica"});
      if (!replica.isAlone() && over != "data")
        groups.push_back({replica, false});
      if (!groups.empty())
        for (auto function : getOperation().getOps<func::FuncOp>())
          if (!function.isExternal())
            reduceIn(function, ofExperts);
    }
  }

  /// How the first state of experts is cut; null without any.
  dist::ShardingAttr ofAnyExpert() {
    for (auto state : getOperation().getOps<train::StateOp>())
      if (dist::isOfExperts(state.getShardingAttr()))
        return state.getShardingAttr();
    return {};
  }

  /// Gradients of tensors whose parts lie along the same axes.
  void reduceIn(func::FuncOp function, bool ofExperts) {
    Bucket bucket;
    int64_t bytes = 0;
    for (OpOperand *gradient : inOrder(function, ofExperts)) {
      addStatistic("gradients", 1);
      addStatistic("bytes", bytesOf(gradient->get().getType()));
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
  SmallVector<OpOperand *> inOrder(func::FuncOp function, bool ofExperts) {
    Block &block = function.getBody().front();
    DenseMap<Operation *, int64_t> position;
    for (Operation &op : block)
      position[&op] = static_cast<int64_t>(position.size()) + 1;
    SmallVector<OpOperand *> gradients;
    for (OpOperand &returned : block.getTerminator()->getOpOperands())
      if (auto gradient =
              train::bindingOfResult(function, returned.getOperandNumber(), train::BindingKind::Gradient);
          gradient && isOfExperts(gradient) == ofExperts)
        gradients.push_back(&returned);
    llvm::stable_sort(gradients, [&](OpOperand *a, OpOperand *b) {
      return position.lookup(a->get().getDefiningOp()) < position.lookup(b->get().getDefiningOp());
    });
    return gradients;
  }

  bool isOfExperts(train::BindingAttr gradient) {
    auto state = getOperation().lookupSymbol<train::StateOp>(gradient.getName());
    return state && dist::isOfExperts(state.getShardingAttr());
  }

  /// Sets the builder right behind what makes the value.
  static void moveBehind(OpBuilder &builder, Value value, PlacedBuilder &placed) {
    builder.setInsertionPointAfterValue(value);
    if (PlaceAttr place = placeOfProducer(value))
      placed.enter(place.in(TrainingPhase::Update));
    else
      placed.enter(PlaceAttr::get(value.getContext(), TrainingPhase::Update, "", "gradients"));
  }

  void reduceScalar(OpOperand &gradient) {
    PlacedBuilder builder(gradient.getOwner());
    moveBehind(builder, gradient.get(), builder);
    auto sum = dist::AllReduceOp::create(builder, gradient.get().getLoc(), gradient.get(), all,
                                         dist::ReduceKind::Sum);
    sum.setOrderAttr(order());
    gradient.set(sum.getResult(0));
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
    for (auto [gradient, whole] : llvm::zip(bucket, sums(builder, last.getLoc(), gradients, groups)))
      gradient->set(whole);
    addStatistic("buckets", 1);
  }

  /// Over the first group in parts, and each part over the rest: what goes along the slower axis is that much
  /// less.
  SmallVector<Value> sums(OpBuilder &builder, Location loc, ArrayRef<Value> values, ArrayRef<Along> groups) {
    if (groups.empty())
      return SmallVector<Value>(values);
    SmallVector<Value> summed =
        sums(builder, loc, partsOf(builder, loc, values, groups.front()), groups.drop_front());
    auto wholes =
        dist::AllGatherOp::create(builder, loc, ValueRange(values).getTypes(), summed, groups.front().group);
    return SmallVector<Value>(wholes.getOutputs());
  }

  SmallVector<Value> partsOf(OpBuilder &builder, Location loc, ArrayRef<Value> values, Along along) {
    if (!along.summed)
      return scattered(builder, loc, values, along.group);
    SmallVector<Value> parts; // each by itself, as what makes it in parts wants
    for (Value value : values)
      parts.push_back(dist::LocalShardOp::create(builder, loc, value, along.group).getResult(0));
    return parts;
  }

  SmallVector<Value> scattered(OpBuilder &builder, Location loc, ArrayRef<Value> values,
                               dist::RankGroup group) {
    auto scatter = dist::ReduceScatterOp::create(builder, loc, values, group);
    scatter.setOrderAttr(order());
    return SmallVector<Value>(scatter.getOutputs());
  }

  StringAttr order() {
    return dist::partsOf(getOperation()) ? StringAttr::get(&getContext(), "tree") : StringAttr();
  }

  dist::RankGroup all;       ///< whose gradients are summed
  SmallVector<Along> groups; ///< axes of it, the fastest first
};
} // namespace
} // namespace kedge::partition
