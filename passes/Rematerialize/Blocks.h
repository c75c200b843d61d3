// The model's blocks, which named recomputation policies speak of.
#pragma once
#include "passes/Rematerialize/Graph.h"
#include <string>

namespace kedge::remat {

/// A block is an instance of a module class that occurs at least twice, the outermost such; without module
/// metadata a repetition of equal launches, else one of ceil(sqrt(n)) consecutive parts of the n launches
/// before the loss.
struct Blocks {
  std::vector<std::string> names; ///< module path, or "part 3", in order of first execution
  std::vector<int> ofValue;       ///< block by value of the graph; -1: none (or made by no forward launch)
};

Blocks findBlocks(const RecomputeGraph &graph);

} // namespace kedge::remat
