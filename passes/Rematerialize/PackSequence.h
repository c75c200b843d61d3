// What an execution sequence takes in the arena.
#pragma once
#include "lib/Solver/Arena/ArenaPacking.h"
#include "lib/Solver/Remat/Rematerialization.h"
#include <optional>

namespace kedge::remat {

/// Buffers of a sequence with in-place reuse decided as kedge-plan-memory decides it: launch by launch, each
/// result takes the first input that it may. Steps are counted from 1; 0 is before the first launch.
std::vector<solver::Buffer> buffersOf(const solver::RematProblem &problem, const std::vector<int> &sequence);

/// Height of the packed arena, in bytes: the same as kedge-plan-memory's or above it. What matters alone is,
/// where `good` is given, whether it is below that.
int64_t packedBytes(const solver::RematProblem &problem, const std::vector<int> &sequence, int64_t good = 0);

/// By the quick search, or one of as many times its effort: kedge-plan-memory packs in no more bytes.
int64_t quickBytes(const solver::RematProblem &problem, const std::vector<int> &sequence, int64_t times = 1);

struct PackedSequence {
  std::vector<int> sequence;
  int64_t bytes = 0; ///< of the arena
};

/// The runs of a sequence in an order whose arena is within `left` bytes, where its own is a little above;
/// none where no such order is found. Costs no more, and depends on nothing but its arguments.
std::optional<PackedSequence> orderWithin(const solver::RematProblem &problem,
                                          const std::vector<int> &sequence, int64_t left);

} // namespace kedge::remat
