#include "lib/Model/ValueNames.h"
#include <fmt/format.h>

namespace kedge::model {
namespace {

void replaceName(std::string &name, const NewNames &names) {
  if (auto found = names.find(name); found != names.end())
    name = found->second;
}

/// The renaming as a graph within sees it: its own names hide those of outside.
NewNames visibleIn(const Graph &graph, const NewNames &names) {
  NewNames visible = names;
  for (const std::string &own : definedIn(graph))
    visible.erase(own);
  return visible;
}

void collect(const Graph &graph, std::set<std::string> &names, bool below) {
  for (const ValueInfo &input : graph.inputs)
    names.insert(input.name);
  for (const Tensor &tensor : graph.initializers)
    names.insert(tensor.name);
  for (const Node &node : graph.nodes) {
    names.insert(node.outputs.begin(), node.outputs.end());
    if (below)
      for (const Attribute &attribute : node.attributes)
        for (const std::shared_ptr<Graph> &inner : attribute.graphs)
          collect(*inner, names, below);
  }
  names.erase("");
}

} // namespace

std::set<std::string> definedIn(const Graph &graph) {
  std::set<std::string> names;
  collect(graph, names, false);
  return names;
}

std::set<std::string> definedBelow(const Graph &graph) {
  std::set<std::string> names;
  collect(graph, names, true);
  return names;
}

void renameReads(Node &node, const NewNames &names) {
  for (std::string &input : node.inputs)
    replaceName(input, names);
  for (Attribute &attribute : node.attributes)
    for (std::shared_ptr<Graph> &graph : attribute.graphs) {
      const NewNames visible = visibleIn(*graph, names);
      if (visible.empty())
        continue;
      auto copy = std::make_shared<Graph>(*graph);
      for (Node &inner : copy->nodes)
        renameReads(inner, visible);
      for (ValueInfo &output : copy->outputs)
        replaceName(output.name, visible);
      graph = std::move(copy);
    }
}

void renameAll(Graph &graph, const NewNames &names) {
  if (names.empty())
    return;
  for (auto *infos : {&graph.inputs, &graph.outputs})
    for (ValueInfo &info : *infos)
      replaceName(info.name, names);
  for (ValueInfo &info : graph.valueInfos)
    replaceName(info.name, names);
  for (Tensor &tensor : graph.initializers)
    replaceName(tensor.name, names);
  for (Node &node : graph.nodes) {
    renameReads(node, names);
    for (std::string &output : node.outputs)
      replaceName(output, names);
  }
}

std::string freshName(const std::string &wanted, std::set<std::string> &used) {
  std::string name = wanted;
  for (int number = 1; !used.insert(name).second; ++number)
    name = fmt::format("{}_{}", wanted, number);
  return name;
}

} // namespace kedge::model
