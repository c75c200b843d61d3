// Which axis of a value runs over the rows of the batch, found from the graph without any shape being known.
// Random numbers are keyed by row (docs: contract, random numbers); an op whose axis is not found is keyed by
// rank.
#pragma once
#include "kedge/Model/Model.h"

namespace kedge::lint {

/// Value name -> axis. The rows lie along this axis, outermost in it where a reshape merged it with others.
/// Values that do not depend on a graph input, or whose axis cannot be told, are absent.
std::map<std::string, int64_t> batchAxes(const model::Graph &);

} // namespace kedge::lint
