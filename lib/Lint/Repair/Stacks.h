// Parameters of which an export has the slices alone: W[0], W[1], ... of a loop over experts that it
// unrolled.
#pragma once
#include "lib/Lint/Uses.h"

namespace kedge::lint {

struct StackedSlice {
  std::string tensor;
  bool transposed = false;
};

/// A parameter with all its slices along the first axis, in their order.
struct ParameterStack {
  std::string placeholder;
  std::vector<StackedSlice> slices;
};

/// Those whose record says of each slice which one it is, when none is missing.
std::vector<ParameterStack> findStacks(const model::Graph &, const Signature &);

class GraphEditor;
/// Makes the parameters of `stacks` again, and the slices of them. Returns their names.
std::vector<std::string> unstack(model::Graph &, const std::vector<ParameterStack> &, const Signature &,
                                 const Uses &, GraphEditor &);

} // namespace kedge::lint
