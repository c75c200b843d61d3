#include "lib/Model/ModelCheck.h"
#include "lib/Model/Schema.h"
#include "lib/Support/Error.h"
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace kedge::model {

namespace {

struct Scope {
  const Scope *outer = nullptr;
  std::unordered_set<std::string_view> names;

  bool knows(std::string_view name) const { return names.contains(name) || (outer && outer->knows(name)); }
};

using Producers = std::unordered_map<std::string_view, size_t>;

class GraphChecker {
public:
  GraphChecker(const Model &model, Graph &graph, const Scope *outer) : model(model), graph(graph) {
    scope.outer = outer;
  }

  const Scope &run() {
    defineNames();
    std::vector<std::vector<size_t>> dependencies = collectDependencies();
    if (!isSorted(dependencies)) {
      sort(dependencies);
      defineNames(); // the views point into the nodes
    }
    for (Node &node : graph.nodes)
      for (Attribute &a : node.attributes)
        for (auto &sub : a.graphs)
          GraphChecker(model, *sub, &scope).run();
    for (const ValueInfo &output : graph.outputs)
      if (!scope.knows(output.name))
        fail("{}: graph '{}' has the output '{}', which nothing in it makes. Export the model again",
             model.path, graph.name, output.name);
    return scope;
  }

private:
  void defineNames() {
    producers.clear();
    defineFeeds();
    defineNodeOutputs();
  }

  void defineFeeds() {
    std::unordered_set<std::string_view> initializers;
    types.clear();
    for (const Tensor &tensor : graph.initializers)
      types[tensor.name] = tensor.dtype;
    for (const ValueInfo &input : graph.inputs)
      if (input.kind == ValueInfo::Kind::Tensor)
        types.try_emplace(input.name, input.dtype);
    for (const Tensor &tensor : graph.initializers)
      if (!initializers.insert(tensor.name).second)
        fail("{}: graph '{}' has two initializers named '{}'; expected unique names. Export the model again",
             model.path, graph.name, tensor.name);
    scope.names = std::move(initializers);
    std::unordered_set<std::string_view> inputs;
    for (const ValueInfo &input : graph.inputs) {
      if (!inputs.insert(input.name).second)
        fail("{}: graph '{}' has two inputs named '{}'; expected unique names. Export the model again",
             model.path, graph.name, input.name);
      scope.names.insert(input.name);
    }
  }

  void defineNodeOutputs() {
    for (size_t k = 0; k < graph.nodes.size(); ++k)
      for (const std::string &output : graph.nodes[k].outputs)
        if (!output.empty() && !scope.names.insert(output).second)
          fail("{}: {} makes '{}', which {}; expected every value to be made once. Export the model again",
               model.path, graph.nodes[k].describe(), output, owner(output));
        else if (!output.empty())
          producers[output] = k;
  }

  std::string owner(const std::string &name) const {
    auto producer = producers.find(name);
    if (producer != producers.end())
      return graph.nodes[producer->second].describe() + " makes too";
    return graph.findInitializer(name) ? "is an initializer" : "is an input";
  }

  void collectUses(const Graph &sub, const Scope *inner, std::vector<std::string_view> &free) const {
    Scope local{inner, {}};
    for (const Tensor &tensor : sub.initializers)
      local.names.insert(tensor.name);
    for (const ValueInfo &input : sub.inputs)
      local.names.insert(input.name);
    for (const Node &node : sub.nodes)
      local.names.insert(node.outputs.begin(), node.outputs.end());
    auto use = [&](const std::string &name) {
      if (!name.empty() && !local.knows(name))
        free.push_back(name);
    };
    for (const Node &node : sub.nodes) {
      for (const std::string &input : node.inputs)
        use(input);
      for (const Attribute &a : node.attributes)
        for (const auto &graphOfNode : a.graphs)
          collectUses(*graphOfNode, &local, free);
    }
    for (const ValueInfo &output : sub.outputs)
      use(output.name);
  }

  std::vector<std::vector<size_t>> collectDependencies() const {
    std::vector<std::vector<size_t>> dependencies(graph.nodes.size());
    for (size_t k = 0; k < graph.nodes.size(); ++k) {
      const Node &node = graph.nodes[k];
      checkSignature(model, node);
      checkTypes(model, node, [&](size_t operand) {
        const auto known = types.find(node.input(operand));
        return known == types.end() ? ElementType::Undefined : known->second;
      });
      std::vector<std::string_view> uses(node.inputs.begin(), node.inputs.end());
      for (const Attribute &a : node.attributes)
        for (const auto &sub : a.graphs)
          collectUses(*sub, nullptr, uses);
      for (std::string_view name : uses) {
        if (name.empty())
          continue;
        auto producer = producers.find(name);
        if (producer != producers.end())
          dependencies[k].push_back(producer->second);
        else if (!scope.knows(name))
          fail("{}: {} uses '{}', which nothing makes: it is no input, no initializer and no node's output. "
               "Export the model again",
               model.path, node.describe(), name);
      }
    }
    return dependencies;
  }

  static bool isSorted(const std::vector<std::vector<size_t>> &dependencies) {
    for (size_t k = 0; k < dependencies.size(); ++k)
      for (size_t d : dependencies[k])
        if (d >= k)
          return false;
    return true;
  }

  /// Stable: among the nodes that are ready the first of the file comes first.
  void sort(const std::vector<std::vector<size_t>> &dependencies) {
    size_t count = graph.nodes.size();
    std::vector<std::vector<size_t>> users(count);
    std::vector<size_t> missing(count);
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t k = 0; k < count; ++k) {
      missing[k] = dependencies[k].size();
      for (size_t d : dependencies[k])
        users[d].push_back(k);
      if (missing[k] == 0)
        ready.push(k);
    }
    std::vector<Node> sorted;
    sorted.reserve(count);
    while (!ready.empty()) {
      size_t k = ready.top();
      ready.pop();
      for (size_t user : users[k])
        if (--missing[user] == 0)
          ready.push(user);
      sorted.push_back(graph.nodes[k]);
    }
    for (size_t k = 0; k < count && sorted.size() != count; ++k)
      if (missing[k] != 0)
        fail("{}: {} depends on its own result (a cycle in graph '{}'); expected a graph without cycles. "
             "Export the model again",
             model.path, graph.nodes[k].describe(), graph.name);
    graph.nodes = std::move(sorted);
  }

  const Model &model;
  Graph &graph;
  Scope scope;
  Producers producers;
  std::unordered_map<std::string_view, ElementType>
      types; ///< of feeds; what nodes make is known to the importer
};

void checkDefaultOpset(const Model &model, int64_t version) {
  if (version < oldestOpset || version > newestOpset)
    fail("{}: the model uses opset {} of the default domain; expected {} to {}. Export it again with opset "
         "{}, or "
         "convert it with onnx.version_converter",
         model.path, version, oldestOpset, newestOpset, version < oldestOpset ? 18 : newestOpset);
}

} // namespace

void assignOpsets(const Model &model, std::vector<Node> &nodes,
                  const std::map<std::string, int64_t> &opsets) {
  for (Node &node : nodes) {
    auto own = opsets.find(node.domain);
    auto entry = own != opsets.end() ? own : model.opsets.find(node.domain);
    node.opset = own != opsets.end() || entry != model.opsets.end() ? entry->second : 0;
    if (node.domain.empty()) {
      if (node.opset == 0)
        fail("{}: {} is of the default domain, but the model imports no opset of it; expected {} to {}",
             model.path, node.describe(), oldestOpset, newestOpset);
      checkDefaultOpset(model, node.opset);
    }
    for (Attribute &a : node.attributes)
      for (auto &sub : a.graphs)
        assignOpsets(model, sub->nodes, opsets);
  }
}

void assignOpsets(Model &model) {
  if (model.opsets.empty())
    fail("{}: the model imports no opset; expected opset {} to {} of the default domain", model.path,
         oldestOpset, newestOpset);
  if (auto own = model.opsets.find(""); own != model.opsets.end())
    checkDefaultOpset(model, own->second);
  assignOpsets(model, model.graph.nodes, model.opsets);
  for (LocalFunction &function : model.functions)
    assignOpsets(model, function.nodes, function.opsets);
  for (TrainingInfo &info : model.trainingInfo) {
    if (info.initialization)
      assignOpsets(model, info.initialization->nodes, model.opsets);
    if (info.algorithm)
      assignOpsets(model, info.algorithm->nodes, model.opsets);
  }
}

void checkAndSort(Model &model) {
  GraphChecker main(model, model.graph, nullptr);
  const Scope &scope = main.run();
  for (TrainingInfo &info : model.trainingInfo) {
    if (info.initialization)
      GraphChecker(model, *info.initialization, nullptr).run();
    // The algorithm runs behind the main graph and reads its values.
    if (info.algorithm)
      GraphChecker(model, *info.algorithm, &scope).run();
  }
}

void numberNodes(Model &model) {
  int64_t next = 0;
  auto number = [&](Node &node) { node.id = next++; };
  forEachNode(model.graph, number);
  for (TrainingInfo &info : model.trainingInfo) {
    if (info.initialization)
      forEachNode(*info.initialization, number);
    if (info.algorithm)
      forEachNode(*info.algorithm, number);
  }
}

} // namespace kedge::model
