// Putting the body of one cluster into another.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::schedule {

/// `reader` with `producer`'s scalar computed wherever it read `input`, which is the result of `producer` or a
/// view of it. The producer must have one result and no folds. Returns the cluster that took the reader's
/// place, or null, with nothing changed, where the element that is read is no plain function of the domain.
/// The producer stays.
sched::ClusterOp substituteProducer(sched::ClusterOp producer, sched::ClusterOp reader, mlir::Value input);

/// One cluster in the reader's place that yields the reader's results, and the producer's that others read.
/// Needs equal domains and equal maps of what is passed on; erases both.
sched::ClusterOp joinProducer(sched::ClusterOp producer, sched::ClusterOp reader);

} // namespace kedge::schedule
