// What tells clusters apart and what their kernels are called, for every emitter.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include <string>

namespace kedge::lower {

/// Everything that makes a cluster's kernel what it is; no locations, no names of values. Bytes that are
/// equal for equal clusters of one context, and mean nothing else.
std::string kernelKey(sched::ClusterOp op);

/// The body as text, without locations and names of values.
void printBody(llvm::raw_ostream &os, sched::ClusterOp op);

/// A name's readable part: the last word of the cluster's place in the model and its domain, "ln_1_1024x768".
std::string kernelHint(sched::ClusterOp op);

} // namespace kedge::lower
