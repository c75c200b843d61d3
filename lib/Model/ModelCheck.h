// What every loaded model fulfils: known opsets, defined and unique names, topological order.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::model {

constexpr int64_t oldestOpset = 7;
constexpr int64_t newestOpset = 28;

/// Sets `opset` of every node and refuses versions of the default domain that are not supported.
void assignOpsets(Model &);
void assignOpsets(const Model &, std::vector<Node> &, const std::map<std::string, int64_t> &opsets);

/// Checks names and sorts nodes, in all graphs. Throws on undefined or doubly defined values and on cycles.
void checkAndSort(Model &);

/// Sets `id` of every node.
void numberNodes(Model &);

} // namespace kedge::model
