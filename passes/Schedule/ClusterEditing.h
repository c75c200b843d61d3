// Putting the body of one cluster into another.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "llvm/ADT/DenseMap.h"

namespace kedge::schedule {

/// Collects a new cluster's operands, each tensor at each map once, as arguments of its body's block, which
/// has no others.
class ClusterInputs {
public:
  explicit ClusterInputs(mlir::Block &block) : block(block) {}
  mlir::Value add(mlir::Value tensor, mlir::AffineMap map, mlir::Type scalar, mlir::Location loc);

  llvm::SmallVector<mlir::Value> tensors;
  llvm::SmallVector<mlir::Attribute> maps;

private:
  mlir::Block &block;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, unsigned> known;
};

/// `reader` with `producer`'s scalar computed wherever it read `input`, which is the result of `producer` or
/// a view of it. The producer must have one result and no reductions. Returns the cluster that took the
/// reader's place, or null, with nothing changed, where the element that is read is no plain function of the
/// domain. The view and the producer are erased where nothing else reads them.
sched::ClusterOp substituteProducer(sched::ClusterOp producer, sched::ClusterOp reader, mlir::Value input);

/// One cluster in the reader's place that yields the reader's results, and the producer's that others read.
/// Needs equal domains and equal maps of what is passed on; erases both.
sched::ClusterOp joinProducer(sched::ClusterOp producer, sched::ClusterOp reader);

} // namespace kedge::schedule
