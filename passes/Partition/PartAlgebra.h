// Parts and wholes exchange places with ops that compute each element by itself.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace kedge::partition {

/// own_part(f(x, y, scalar)) becomes f(own_part(x), own_part(y), scalar); f(all_gather(p), scalar), where nobody else reads
/// what was gathered, becomes all_gather(f(p, scalar)). Both leave the bits as they are.
void populatePartAlgebra(mlir::RewritePatternSet &patterns);

} // namespace kedge::partition
