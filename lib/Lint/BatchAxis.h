// Finds the axis of each value that runs over the rows of the batch, from the graph
// alone, without shapes. Random numbers are keyed by row (docs/programs.md,
// "Rows"). An op whose batch axis is not found draws numbers keyed by rank instead.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::lint {

/// Value name -> batch axis. If a reshape merged the rows with other dims, they are the outermost part
/// of that axis. Values that do not depend on a graph input, or whose axis is unknown, are absent.
std::map<std::string, int64_t> batchAxes(const model::Graph &);

} // namespace kedge::lint
