#include "lib/Lint/Reach.h"
#include "lib/Lint/Repair/Repair.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::lint {
using model::Node;
using model::Tensor;

Node makeNode(std::string opType, std::vector<std::string> inputs, std::string output) {
  Node node;
  node.opType = std::move(opType);
  node.inputs = std::move(inputs);
  node.name = "kedge/" + node.opType + "/" + output;
  node.outputs = {std::move(output)};
  return node;
}

std::string countOf(size_t n, const char *one, const char *many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::optional<int64_t> biasLength(const model::Graph &graph, const Node &node) {
  const Tensor *weight = graph.findInitializer(node.input(1));
  if (!weight || weight->dims.empty())
    return std::nullopt;
  if (node.is("Gemm"))
    return weight->dims[node.attrInt("transB", 0) ? 0 : 1];
  if (node.is("ConvTranspose"))
    return weight->dims.size() < 2 ? std::nullopt : std::optional(weight->dims[1] * node.attrInt("group", 1));
  return node.is("MatMul") ? weight->dims.back() : weight->dims[0];
}

Tensor *GraphEditor::tensor(const std::string &name) { return graph.initializers.find(name); }

bool GraphEditor::isTaken(const std::string &name) const {
  if (graph.findInitializer(name) || graph.findInput(name))
    return true;
  auto makes = [&](const Node &node) {
    return std::count(node.outputs.begin(), node.outputs.end(), name) > 0;
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), makes) ||
         std::any_of(front.begin(), front.end(), makes);
}

std::string GraphEditor::fresh(std::string name) const {
  while (isTaken(name))
    name += "_";
  return name;
}

void GraphEditor::addTensor(Tensor tensor, const std::string &placeholder) {
  tensor.place = tensor.placeLength = 0;
  tensor.metadata.clear();
  if (!placeholder.empty()) {
    tensor.metadata[key::inputKind] = Signature::isParameter(placeholder) ? "PARAMETER" : "BUFFER";
    tensor.metadata[key::originalName] = placeholder;
  }
  graph.initializers.push_back(std::move(tensor));
}

void GraphEditor::removeTensor(const std::string &name) {
  auto reads = [&](const Node &node) {
    if (std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end())
      return true;
    auto isGraph = [](const model::Attribute &attribute) { return !attribute.graphs.empty(); };
    if (std::none_of(node.attributes.begin(), node.attributes.end(), isGraph))
      return false;
    std::vector<std::string> names = readsOf(node);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), reads) || graph.findOutput(name))
    return; // a subgraph reads it still
  graph.initializers.eraseIf([&](const Tensor &t) { return t.name == name; });
  std::erase_if(graph.inputs, [&](const model::ValueInfo &v) { return v.name == name; });
}

void GraphEditor::addFront(Node node, const Node &like) {
  node.opset = like.opset;
  node.metadata = {};
  for (const std::string &copied : {key::nameScopes, key::classHierarchy})
    if (auto found = like.metadata.find(copied); found != like.metadata.end())
      node.metadata.insert(*found);
  front.push_back(std::move(node));
}

void GraphEditor::insertAfter(size_t node, Node added) { behind.emplace(node, std::move(added)); }

void GraphEditor::finish() {
  if (front.empty() && behind.empty())
    return;
  int64_t next = 0;
  model::forEachNode(graph, [&](const Node &node) { next = std::max(next, node.id + 1); });
  std::vector<Node> nodes;
  auto take = [&](Node &&node, bool isNew) {
    if (isNew) {
      node.id = next++; // ids of old nodes key their random numbers and stay
      node.place = 0;
    }
    nodes.push_back(std::move(node));
  };
  for (Node &node : front)
    take(std::move(node), true);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    take(std::move(graph.nodes[n]), false);
    for (auto [at, end] = behind.equal_range(n); at != end; ++at)
      take(std::move(at->second), true);
  }
  graph.nodes = std::move(nodes);
  front.clear();
  behind.clear();
}

} // namespace kedge::lint
