// Point-by-point interpretation of a sched.cluster.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "lib/Interpret/ConstantEvaluator.h"

namespace kedge::interpret {
/// False when the body holds an op that has no value at compile time (random numbers) or is unknown.
bool interpretCluster(sched::ClusterOp cluster, llvm::ArrayRef<const HostTensor *> inputs,
                      std::vector<HostTensor> &results);
} // namespace kedge::interpret
