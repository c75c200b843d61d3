// Parts and wholes exchange places with ops that compute each element by itself.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace kedge::partition {

/// A pattern that counts the ops which it made to work on parts.
template <typename Op> struct PartPattern : mlir::OpRewritePattern<Op> {
  PartPattern(mlir::MLIRContext *context, int64_t &onParts)
      : mlir::OpRewritePattern<Op>(context), onParts(onParts) {}
  int64_t &onParts;
};

/// local_shard(f(x, y, scalar)) becomes f(local_shard(x), local_shard(y), scalar); f(all_gather(p), scalar),
/// where nobody else reads what was gathered, becomes all_gather(f(p, scalar)). Both leave the bits as they
/// are.
void populatePartAlgebra(mlir::RewritePatternSet &patterns, int64_t &onParts);

} // namespace kedge::partition
