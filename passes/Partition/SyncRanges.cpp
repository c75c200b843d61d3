#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_SYNCRANGES
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

struct SyncRanges : impl::SyncRangesBase<SyncRanges> {
  void run() override {
    const dist::RankGroup group = dist::rowGroup(getOperation());
    if (group.isAlone())
      return;
    int64_t count = 0;
    getOperation().walk([&](train::MovingRangeOp range) {
      PlacedBuilder builder(range);
      Location loc = range.getLoc();
      auto largest = [&](Value value) -> Value {
        return dist::AllReduceOp::create(builder, loc, value, group, dist::ReduceKind::Max).getResult(0);
      };
      auto negative = [&](Value value) -> Value { return onnx::NegOp::create(builder, loc, value); };
      Value least = negative(largest(negative(range.getBatchMin())));
      range.getBatchMinMutable().assign(least);
      range.getBatchMaxMutable().assign(largest(range.getBatchMax()));
      ++count;
    });
    addStatistic("ranges", count);
  }
};
} // namespace
} // namespace kedge::partition
