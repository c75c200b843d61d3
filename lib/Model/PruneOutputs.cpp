// Outputs that no training needs and no compilation can make.
#include "lib/Model/Specialize.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace kedge::model {
namespace {

using Supported = std::function<bool(const std::string &domain, const std::string &op)>;

/// "" or why the node cannot be compiled.
std::string obstacleOf(const Node &node, const Supported &isSupported) {
  std::string found;
  auto visit = [&](const Node &each) {
    if (found.empty() && !isSupported(each.domain, each.opType))
      found = each.describe();
  };
  visit(node);
  for (const Attribute &attribute : node.attributes)
    for (const std::shared_ptr<Graph> &inner : attribute.graphs)
      forEachNode(*inner, visit);
  return found;
}

void addReads(const Graph &graph, std::vector<std::string> &reads) {
  forEachNode(graph, [&](const Node &node) {
    reads.insert(reads.end(), node.inputs.begin(), node.inputs.end());
    for (const Attribute &attribute : node.attributes)
      for (const std::shared_ptr<Graph> &inner : attribute.graphs)
        for (const ValueInfo &output : inner->outputs)
          reads.push_back(output.name);
  });
  for (const ValueInfo &output : graph.outputs)
    reads.push_back(output.name);
}

class Needs {
public:
  Needs(const Graph &graph, const Supported &isSupported) : graph(graph), isSupported(isSupported) {
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      for (const std::string &output : graph.nodes[n].outputs)
        makers[output] = n;
  }

  std::set<size_t> of(const std::string &value) const {
    std::set<size_t> needed;
    std::vector<std::string> open = {value};
    while (!open.empty()) {
      auto maker = makers.find(open.back());
      open.pop_back();
      if (maker == makers.end() || !needed.insert(maker->second).second)
        continue;
      const Node &node = graph.nodes[maker->second];
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      for (const Attribute &attribute : node.attributes)
        for (const std::shared_ptr<Graph> &inner : attribute.graphs)
          addReads(*inner, open);
    }
    return needed;
  }

  std::string obstacle(const std::set<size_t> &needed) const {
    for (size_t n : needed)
      if (std::string found = obstacleOf(graph.nodes[n], isSupported); !found.empty())
        return found;
    return "";
  }

private:
  const Graph &graph;
  const Supported &isSupported;
  std::unordered_map<std::string, size_t> makers;
};

} // namespace

std::vector<std::string> pruneOutputs(Model &model, const std::vector<std::string> &losses,
                                      const Supported &isSupported) {
  Graph &graph = model.graph;
  std::vector<std::string> notes;
  if (losses.empty() || !model.trainingInfo.empty())
    return notes;
  const Needs needs(graph, isSupported);
  std::set<size_t> kept, gone;
  std::vector<ValueInfo> outputs;
  for (const ValueInfo &output : graph.outputs) {
    const std::set<size_t> needed = needs.of(output.name);
    const bool isLoss = std::find(losses.begin(), losses.end(), output.name) != losses.end();
    std::string obstacle = isLoss ? std::string() : needs.obstacle(needed);
    if (obstacle.empty() && !isLoss && output.kind != ValueInfo::Kind::Tensor &&
        output.kind != ValueInfo::Kind::Untyped)
      obstacle = "a list or a map";
    if (obstacle.empty() && !isLoss && output.dtype == ElementType::String)
      obstacle = "strings";
    (obstacle.empty() ? kept : gone).insert(needed.begin(), needed.end());
    if (obstacle.empty())
      outputs.push_back(output);
    else
      notes.push_back(fmt::format("the output '{}' is not computed: it needs {}, and the loss reads '{}'; an "
                                  "exported file has it as before",
                                  output.name, obstacle, fmt::join(losses, "', '")));
  }
  if (notes.empty())
    return notes;
  graph.outputs = std::move(outputs);
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (kept.count(n) || !gone.count(n))
      nodes.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(nodes);
  return notes;
}

} // namespace kedge::model
