// Sequences that follow from which values are kept: the rest is made again where it is read.
#pragma once
#include "lib/Solver/Remat/RematModel.h"

namespace kedge::solver {

/// Runs the order of the problem. An input that is neither `kept` (by value) nor was made or read at most
/// `patience` steps of the order ago is made again, as late as possible; up to step `from` of the order
/// nothing is. Empty where that does not end.
std::vector<int> runOnDemand(const RematModel &model, const std::vector<char> &kept, int patience,
                             int from = 0);

/// Moves steps that overwrite behind the last run of what they must not come before.
std::vector<int> postponeOverwrites(const RematModel &model, const std::vector<int> &sequence);

} // namespace kedge::solver
