// The values of a graph and of its subgraphs: who makes and who reads them, which follow from constants
// alone, and shapes as far as they are at hand.
#pragma once
#include "lib/Model/Model.h"
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace kedge::lint {

struct Reader {
  const model::Node *node = nullptr;
  size_t operand = 0;
};

using Dims = std::vector<int64_t>; // -1: not known

class Values {
public:
  explicit Values(const model::Graph &);

  /// In the order of the graph; nodes of subgraphs come after the node that owns the subgraph.
  const std::vector<const model::Node *> &nodes() const { return order; }
  /// Null for inputs and initializers.
  const model::Node *maker(const std::string &value) const;
  const std::vector<Reader> &readers(const std::string &value) const;
  /// An initializer or a Constant node's value; null for others.
  const model::Tensor *tensor(const std::string &value) const;
  /// An initializer, a Constant node's value, or what is computed from these alone.
  bool isConstant(const std::string &value) const { return constants.count(value) != 0; }
  /// An output of the model.
  bool isOutput(const std::string &value) const { return outputs.count(value) != 0; }
  /// An input of the model, which holds another value with each batch.
  bool isInput(const std::string &value) const { return inputs.count(value) != 0; }
  /// Nullopt: not even the number of axes is known.
  std::optional<Dims> dims(const std::string &value) const;
  bool hasOneElement(const std::string &value) const;

  /// The value behind what only moves, repeats or retypes it.
  const std::string &behindMoves(const std::string &value) const;

private:
  std::optional<Dims> computedDims(const model::Node &) const;
  void visit(const model::Node &);
  void visitLoop(const model::Node &);

  std::vector<const model::Node *> order;
  std::unordered_map<std::string, const model::Node *> makers;
  std::unordered_map<std::string, std::vector<Reader>> reads;
  std::unordered_map<std::string, const model::Tensor *> initializers;
  std::unordered_map<std::string, model::Tensor> literals; // of Constant nodes
  std::unordered_set<std::string> constants, outputs, inputs;
  std::unordered_map<std::string, Dims> shapes;
};

bool isOneOf(const model::Node &, const std::set<std::string> &operators);
/// Add, Sub, Mul, Div, Sum.
bool isSumOrProduct(const model::Node &);
/// Reshape, Transpose, Cast and the like: the first operand's elements, in another form.
bool isMove(const model::Node &);
/// isMove(), and what picks, joins or repeats elements: Slice, Split, Concat, Pad, Tile, Gather by constants.
bool isPick(const model::Node &);

/// Axes whose length is not 1, counted from the last (0).
std::vector<size_t> longAxes(const Dims &);
/// Product of all dimensions; -1 when one is not known.
int64_t elementsOf(const Dims &);

} // namespace kedge::lint
