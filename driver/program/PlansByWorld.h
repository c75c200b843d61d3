// --ranks N,M: a program that holds a plan for each number of ranks, and takes that of the world it is
// started in. --replicas node: one for each way that a launcher can place the ranks on machines of equal
// size.
#pragma once
#include "driver/options/CompileOptions.h"
#include "passes/Lower/Codegen/KernelCache.h"

namespace kedge::driver {

/// Compiles for each, links one program at `options.output.path`. Exit code: 0, or 2 when one fits no budget,
/// which is told, and nothing is written.
int compilePlansByWorld(const CompileOptions &options, lower::KernelCache &cache);

} // namespace kedge::driver
