#include "lib/Lint/Repair/Unfoldings.h"
#include "lib/Lint/Traced.h"
#include <algorithm>
#include <cctype>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Node;
using model::Tensor;

namespace {

/// A recurrent operator: which gate of PyTorch's each gate of ONNX's is.
struct Gates {
  const char *op;
  std::vector<int64_t> order;
};

const Gates *gatesOf(const std::string &target) {
  static const std::map<std::string, Gates> table = {
      {"lstm", {"LSTM", {0, 3, 1, 2}}}, // input, output, forget, cell; PyTorch: input, forget, cell, output
      {"gru", {"GRU", {1, 0, 2}}},      // update, reset, new; PyTorch: reset, update, new
      {"rnn_tanh", {"RNN", {0}}},
      {"rnn_relu", {"RNN", {0}}}};
  auto found = table.find(target);
  return found == table.end() ? nullptr : &found->second;
}

class RecurrentFinder {
public:
  RecurrentFinder(const Graph &graph, const Signature &signature, const Uses &uses)
      : graph(graph), signature(signature), uses(uses) {}

  std::vector<Unfolding> find() {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const FxCall *call = uses.call(n);
      const Gates *gates = call ? gatesOf(call->target) : nullptr;
      if (gates && graph.nodes[n].is(gates->op))
        add(n, *call, *gates);
    }
    return std::move(found);
  }

private:
  /// The parameters of this node's layer in the call's list, a direction after the other.
  std::vector<std::string> layerOf(size_t n, const FxCall &call, size_t directions, bool biases) const {
    constexpr size_t list = 2; // of lstm(input, states, parameters, ...)
    const size_t each = directions * (biases ? 4 : 2);
    size_t layer = 0;
    for (size_t sibling : uses.siblings(n))
      layer += sibling < n && graph.nodes[sibling].opType == graph.nodes[n].opType;
    const std::vector<std::string> &all =
        call.arguments.size() > list ? call.arguments[list].refs : std::vector<std::string>();
    if (all.size() % each != 0 || all.size() < (layer + 1) * each)
      return {};
    std::vector<std::string> names(all.begin() + static_cast<std::ptrdiff_t>(layer * each),
                                   all.begin() + static_cast<std::ptrdiff_t>((layer + 1) * each));
    const std::set<std::string> once(names.begin(), names.end());
    const bool listed = std::all_of(names.begin(), names.end(), [&](const std::string &name) {
      const SignatureEntry *entry = signature.byPlaceholder(name);
      return entry && entry->kind == SignatureKind::Parameter;
    });
    return listed && once.size() == names.size() ? names : std::vector<std::string>();
  }

  void add(size_t n, const FxCall &call, const Gates &gates) {
    const Node &node = graph.nodes[n];
    const Tensor *input = graph.findInitializer(node.input(1)), *state = graph.findInitializer(node.input(2)),
                 *bias = graph.findInitializer(node.input(3));
    const auto count = static_cast<int64_t>(gates.order.size());
    if (!input || !state || input->dims.size() != 3 || state->dims.size() != 3)
      return;
    const int64_t directions = state->dims[0], hidden = state->dims[2];
    if ((directions != 1 && directions != 2) || input->dims[0] != directions ||
        input->dims[1] != count * hidden || state->dims[1] != count * hidden ||
        (node.hasInput(3) && (!bias || bias->dims != std::vector<int64_t>{directions, 2 * count * hidden})))
      return;
    const bool biases = node.hasInput(3);
    const std::vector<std::string> names = layerOf(n, call, directions, biases);
    if (names.empty())
      return;
    const size_t each = biases ? 4 : 2; // weight_ih, weight_hh, bias_ih, bias_hh
    std::vector<std::string> lists[3];
    for (size_t d = 0; d < static_cast<size_t>(directions); ++d) {
      lists[0].push_back(names[d * each]);
      lists[1].push_back(names[d * each + 1]);
      if (biases)
        lists[2].insert(lists[2].end(), {names[d * each + 2], names[d * each + 3]});
    }
    addOperand(n, 1, *input, lists[0], gates.order, {count * hidden, input->dims[2]});
    addOperand(n, 2, *state, lists[1], gates.order, {count * hidden, hidden});
    if (biases)
      addOperand(n, 3, *bias, lists[2], gates.order, {count * hidden});
  }

  void addOperand(size_t n, size_t operand, const Tensor &tensor, const std::vector<std::string> &names,
                  const std::vector<int64_t> &order, const std::vector<int64_t> &shape) {
    if (!agrees(tensor, names))
      return;
    const int64_t rows = shape[0] / static_cast<int64_t>(order.size());
    Unfolding unfolding{tensor.name, {{n, operand, Role::None, std::nullopt}}, {}, {}, false};
    for (const std::string &name : names) {
      unfolding.shapes[name] = shape;
      for (int64_t gate : order)
        unfolding.blocks.push_back({name, gate * rows, rows});
    }
    found.push_back(std::move(unfolding));
  }

  /// Whether the tensor was folded from these very parameters; tensors of one value may have been merged with
  /// another layer's.
  bool agrees(const Tensor &tensor, const std::vector<std::string> &names) const {
    std::set<std::string> sources, wanted;
    for (const std::string &source : parseStringList(metadataOf(tensor, graph, key::foldedFrom)))
      if (const SignatureEntry *entry = signature.byTarget(source);
          entry && entry->kind == SignatureKind::Parameter)
        sources.insert(source);
    for (const std::string &name : names)
      wanted.insert(signature.nameOf(name));
    return sources == wanted || (!sources.empty() && sources.size() == wanted.size() && isUniform(tensor));
  }

  const Graph &graph;
  const Signature &signature;
  const Uses &uses;
  std::vector<Unfolding> found;
};

/// 0, 1, 2 for a name of the query, key or value, which is taken out of it; nullopt for others.
std::optional<size_t> takeLetter(std::string &name) {
  static const char *const words[3][2] = {{"query", "q"}, {"key", "k"}, {"value", "v"}};
  auto isLetter = [&](size_t at) {
    return at < name.size() && isalnum(static_cast<unsigned char>(name[at]));
  };
  for (size_t letter = 0; letter < 3; ++letter)
    for (const std::string word : words[letter])
      for (size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
        const bool begins = at == 0 || !isLetter(at - 1) || (name[at - 1] == 'w' && word.size() == 1);
        if (!begins || isLetter(at + word.size()))
          continue;
        name.replace(at, word.size(), "#");
        return letter;
      }
  return std::nullopt;
}

/// Weights and biases of query, key and value that were joined for one product, each of the same size.
class JoinedFinder {
public:
  JoinedFinder(const Graph &graph, const Signature &signature, const Uses &uses)
      : graph(graph), signature(signature), uses(uses) {}

  void find(std::vector<Unfolding> &found) const {
    for (const Tensor &tensor : graph.initializers)
      if (std::optional<Unfolding> joined = joinedOf(tensor))
        found.push_back(std::move(*joined));
  }

private:
  static bool isJoin(const std::string &name) {
    return name.substr(0, name.find_last_not_of("_0123456789") + 1) == "cat";
  }

  std::optional<Unfolding> joinedOf(const Tensor &tensor) const {
    const std::vector<std::string> from = parseStringList(metadataOf(tensor, graph, key::foldedFrom));
    const std::vector<Use> &places = uses.of(tensor.name);
    if (from.size() < 3 || places.empty() || tensor.dims.empty() || tensor.dims.size() > 2)
      return std::nullopt;
    std::vector<std::string> names(3);
    std::string common;
    bool joined = isJoin(tensor.name), parameter = false;
    for (const std::string &name : from) {
      const SignatureEntry *entry = signature.byTarget(name);
      if (!entry) {
        joined |= isJoin(name);
        if (!isJoin(name) && name.rfind("val_", 0) != 0)
          return std::nullopt;
        continue;
      }
      std::string rest = name;
      const std::optional<size_t> letter = takeLetter(rest);
      if (!letter || !names[*letter].empty() || (!common.empty() && rest != common))
        return std::nullopt;
      common = rest;
      names[*letter] = name;
      parameter |= entry->kind == SignatureKind::Parameter;
    }
    const bool transposed = tensor.dims.size() == 2 && tensor.name.rfind("val_", 0) == 0;
    if (!joined || !parameter || std::count(names.begin(), names.end(), std::string()) != 0 ||
        !isOfOneSize(tensor, transposed, places))
      return std::nullopt;
    return unfoldingOf(tensor, names, transposed, places);
  }

  Unfolding unfoldingOf(const Tensor &tensor, const std::vector<std::string> &names, bool transposed,
                        const std::vector<Use> &places) const {
    Unfolding unfolding{tensor.name, places, {}, {}, transposed};
    const int64_t rows = tensor.dims[transposed ? 1 : 0] / 3;
    std::vector<int64_t> shape{rows};
    if (tensor.dims.size() == 2)
      shape.push_back(tensor.dims[transposed ? 0 : 1]);
    for (const std::string &name : names) {
      const SignatureEntry *entry = signature.byTarget(name);
      const bool trains = entry->kind == SignatureKind::Parameter;
      unfolding.blocks.push_back({trains ? entry->placeholder : std::string(), 0, rows});
      if (trains)
        unfolding.shapes[entry->placeholder] = shape;
    }
    return unfolding;
  }

  /// Of a square matrix each: keys and values with fewer heads would be cut elsewhere.
  bool isOfOneSize(const Tensor &tensor, bool transposed, const std::vector<Use> &places) const {
    for (const Use &use : places) {
      const FxCall *call = uses.call(use.node);
      if (!call || call->target != "linear")
        return false;
      std::optional<int64_t> width;
      if (tensor.dims.size() == 2)
        width = tensor.dims[transposed ? 0 : 1];
      for (size_t sibling : uses.siblings(use.node)) {
        const Node &node = graph.nodes[sibling];
        const Tensor *weight = graph.findInitializer(node.input(1));
        if (!weight || weight->dims.size() != 2 || !(node.is("MatMul") || node.is("Gemm")))
          continue;
        const bool rowsFirst = node.is("Gemm") && node.attrInt("transB", 0) != 0;
        width = width ? width : std::optional(weight->dims[rowsFirst ? 1 : 0]);
      }
      if (!width || tensor.dims[transposed ? 1 : 0] != 3 * *width)
        return false;
    }
    return true;
  }

  const Graph &graph;
  const Signature &signature;
  const Uses &uses;
};

} // namespace

std::vector<Unfolding> findUnfoldings(const Graph &graph, const Signature &signature, const Uses &uses) {
  std::vector<Unfolding> found = RecurrentFinder(graph, signature, uses).find();
  JoinedFinder(graph, signature, uses).find(found);
  return found;
}

} // namespace kedge::lint
