// Sequences to begin from: the order cut into segments, of which only the border values are kept.
#pragma once
#include "lib/Solver/Remat/RematModel.h"

namespace kedge::solver {

/// For several numbers of segments: what a segment makes is dropped once it has not been read for a while,
/// and made again from the nearest border when a read comes. Not all of them are valid.
std::vector<std::vector<int>> segmentStarts(const RematModel &model);

/// Sequences that keep what is best held at the fullest moment, for prices of a byte from high to low.
std::vector<std::vector<int>> momentStarts(const RematModel &model);

} // namespace kedge::solver
