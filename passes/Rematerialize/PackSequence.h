// What an execution sequence takes in the arena.
#pragma once
#include "kedge/Solver/Arena/ArenaPacking.h"
#include "kedge/Solver/Remat/Rematerialization.h"

namespace kedge::remat {

/// Buffers of a sequence with in-place reuse decided as kedge-plan-memory decides it: launch by launch, each result
/// takes the first input that it may. Steps are counted from 1; 0 is before the first launch.
std::vector<solver::Buffer> buffersOf(const solver::RematProblem &problem, const std::vector<int> &sequence);

/// Height of the packed arena, in bytes.
int64_t packedBytes(const solver::RematProblem &problem, const std::vector<int> &sequence);

} // namespace kedge::remat
