// Names of values across the graphs within nodes.
#pragma once
#include "lib/Model/Model.h"
#include <set>

namespace kedge::model {

/// Old name -> new name.
using NewNames = std::map<std::string, std::string>;

/// What the graph itself defines: inputs, initializers, outputs of its nodes.
std::set<std::string> definedIn(const Graph &);
/// The same with all graphs within its nodes.
std::set<std::string> definedBelow(const Graph &);

/// Operands of the node, and what the graphs within it read of outside. Graphs are copied before they change.
void renameReads(Node &, const NewNames &);
/// Everything of that name in a graph: what it defines and what it reads.
void renameAll(Graph &, const NewNames &);

/// `wanted`, or with a number where it is used; the result is used from then on.
std::string freshName(const std::string &wanted, std::set<std::string> &used);

} // namespace kedge::model
