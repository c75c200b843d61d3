// Updates block by block, on a rank's own blocks.
#pragma once
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

namespace kedge::partition {

/// States of moments in blocks (codes, magnitudes) that can be cut between blocks: the parameter is whole
/// blocks, and as many for each of the ranks.
llvm::DenseSet<mlir::StringAttr> statesInBlocks(mlir::func::FuncOp function, int64_t ranks);

/// local_shard of what an update of blocks gives of such states is what it gives of the own parts of its
/// operands.
void populateBlockUpdates(mlir::RewritePatternSet &patterns, int64_t &onParts);

} // namespace kedge::partition
