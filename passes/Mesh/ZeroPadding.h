// What is known of the elements behind the last real one of a rank's block.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "passes/Mesh/Layout.h"
#include "llvm/ADT/BitVector.h"

namespace kedge::mesh {

/// Which results of an op have zeros as padding along its cut loop, if these of its operands have. All real
/// numbers are taken to be finite.
llvm::BitVector resultsWithZeros(mlir::Operation *op, const ShardingRule &rule, const CutLoop &cut,
                                 const llvm::BitVector &zeros);

/// Whether all sums of the nest of an op add zeros only where all tensors along `loop` are zero.
bool sumsZeros(sched::ClusterOp nest, mlir::Operation *op, const ShardingRule &rule, int loop);

} // namespace kedge::mesh
