#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_BUCKETGATHERS
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

using Gathers = SmallVector<dist::AllGatherOp>;

struct BucketGathers : impl::BucketGathersBase<BucketGathers> {
  using Base::Base;

  void run() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Block &block = function.getBody().front();
    Gathers ofArguments, returned;
    for (auto gather : block.getOps<dist::AllGatherOp>())
      if (gather.getInputs().size() == 1 && isa<BlockArgument>(gather.getInputs()[0]))
        ofArguments.push_back(gather);
    // Backward makes the last parameters' gradients first.
    for (Value value : llvm::reverse(block.getTerminator()->getOperands()))
      if (auto gather = value.getDefiningOp<dist::AllGatherOp>();
          gather && gather.getInputs().size() == 1 && value.hasOneUse())
        returned.push_back(gather);
    join(ofArguments, [](Gathers &bucket) { return bucket.front().getOperation(); });
    join(returned, [&](Gathers &) { return block.getTerminator(); });
  }

  /// `placeFor` names the op that a bucket stands in front of.
  void join(Gathers &gathers, function_ref<Operation *(Gathers &)> placeFor) {
    Gathers bucket;
    int64_t bytes = 0;
    auto close = [&] {
      if (bucket.size() > 1)
        merge(bucket, placeFor(bucket));
      bucket.clear();
      bytes = 0;
    };
    for (dist::AllGatherOp gather : gathers) {
      const int64_t size = bytesOf(gather.getResult(0).getType());
      if (bytes + size > bucketBytes || (!bucket.empty() && bucket.front().getAxis() != gather.getAxis()))
        close();
      bucket.push_back(gather);
      bytes += size;
    }
    close();
  }

  void merge(Gathers &bucket, Operation *before) {
    PlacedBuilder builder(before, placeOf(bucket.front()));
    SmallVector<Value> parts;
    SmallVector<Type> wholes;
    for (dist::AllGatherOp gather : bucket) {
      parts.push_back(gather.getInputs()[0]);
      wholes.push_back(gather.getResult(0).getType());
    }
    auto merged =
        dist::AllGatherOp::create(builder, bucket.front()->getLoc(), wholes, parts, bucket.front().group());
    for (auto [gather, whole] : llvm::zip(bucket, merged.getOutputs())) {
      gather.getResult(0).replaceAllUsesWith(whole);
      gather.erase();
    }
    addStatistic("gathers joined", static_cast<int64_t>(bucket.size()));
    addStatistic("buckets", 1);
  }
};
} // namespace
} // namespace kedge::partition
