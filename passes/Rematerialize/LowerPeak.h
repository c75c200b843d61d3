// A smaller peak from order alone.
#pragma once
#include "lib/Solver/Remat/Rematerialization.h"

namespace kedge::remat {

/// Moves launches that run shortly before the fullest one behind it, as long as that lowers the peak. Keeps
/// what is executed and how often; a few hundred replays at most.
void lowerPeakByOrder(const solver::RematProblem &problem, std::vector<int> &sequence);

} // namespace kedge::remat
