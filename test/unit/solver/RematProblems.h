// Problems for the tests of the rematerialization solver.
#pragma once
#include "lib/Solver/Remat/Rematerialization.h"

namespace kedge::solver::test {

/// One node, one value each: inputs[i] are the nodes that node i reads; costs 1, `bytes` each.
RematProblem graph(const std::vector<std::vector<int>> &inputs, int64_t bytes = 1);

/// A few nodes with everything that the model has: several outputs, workspaces, reuse, given and kept values,
/// other ways to make a value, nodes that run once, nodes that overwrite.
RematProblem randomProblem(uint64_t seed);

/// A training step: `layers` alike of `width` nodes forward, then their gradients, each reading the forward
/// values of its node; updates of parameters right behind their gradients, or behind the norm of all
/// gradients.
enum class Updates { atOnce, behindAll };
RematProblem trainingStep(int layers, int width, Updates updates = Updates::atOnce);

/// The least cost of any valid sequence within the budget, from a search of all states; infinite when there
/// is none.
double optimum(const RematProblem &problem, int64_t budget, bool freeOrder);

} // namespace kedge::solver::test
