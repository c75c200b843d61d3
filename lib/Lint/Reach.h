// Where a gradient goes: backward from the loss, and which nodes stand between a trained parameter and the
// loss.
#pragma once
#include "lib/Lint/Lint.h"

namespace kedge::lint {

/// The nodes that a step executes: the model's, then those of the first training algorithm.
std::vector<const model::Node *> stepNodes(const model::Model &);

/// Values that training derives: the loss, or the logits, or (nothing named) every float output; with
/// training_info what its Gradient nodes derive. Throws kedge::Error for a name that the model does not have.
std::vector<std::string> gradientRoots(const model::Model &, const LintOptions &);

/// The only float output in addition to `losses`, as --logits defaults to it; "" when there are several or
/// none.
std::string onlyFloatOutput(const model::Graph &, const std::vector<std::string> &losses = {});

class Reach {
public:
  Reach(const model::Model &, const std::vector<std::string> &roots, const Operators &);
  /// Whether a gradient arrives at this value.
  bool reaches(const std::string &value) const { return reached.count(value); }
  /// Nodes that must pass a gradient on from the roots to one of these values.
  std::vector<const model::Node *> between(const std::set<std::string> &parameters) const;

  /// Whether a gradient may come to this operand of a node, of the graph or of a subgraph, from its results.
  bool passes(const model::Node &, size_t operand) const;

private:
  bool mayCarry(const model::Node &, size_t operand) const;

  const Operators &operators;
  std::vector<const model::Node *> nodes;
  std::set<const model::Node *> outer; // the same
  std::set<std::string> reached;
};

/// Names that a node reads, those of its subgraphs from outside included.
std::vector<std::string> readsOf(const model::Node &);

} // namespace kedge::lint
