// Model-local functions are replaced by their bodies.
#include "lib/Model/ModelCheck.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace kedge::model {

namespace {

using FunctionKey = std::tuple<std::string, std::string, std::string>;
using Renaming = std::unordered_map<std::string, std::string>;

/// A small file can ask for an astronomic number of nodes, by functions that call others twice.
constexpr size_t maxInlinedNodes = 1'000'000;
constexpr size_t maxCallDepth = 200;

class Inliner {
public:
  explicit Inliner(Model &model) : model(model) {
    for (const LocalFunction &function : model.functions) {
      FunctionKey key{function.domain, function.name, function.overload};
      if (!functions.emplace(key, &function).second)
        fail("{}: function '{}' of domain '{}' is defined twice; expected unique functions. Export the model "
             "again",
             model.path, function.name, function.domain);
    }
    reserveNames(model.graph);
    for (TrainingInfo &info : model.trainingInfo) {
      if (info.initialization)
        reserveNames(*info.initialization);
      if (info.algorithm)
        reserveNames(*info.algorithm);
    }
  }

  /// Refuses recursion and explosions before anything is copied.
  void checkSize(const Graph &graph) {
    std::vector<const LocalFunction *> callers;
    countNodes(graph.nodes, callers);
  }

  void expand(Graph &graph) {
    std::vector<Node> result;
    Graph *before = current;
    current = &graph;
    for (Node &node : graph.nodes)
      expandNode(std::move(node), result);
    graph.nodes = std::move(result);
    current = before;
  }

private:
  void reserveNames(const Graph &graph) {
    for (const ValueInfo &input : graph.inputs)
      used.insert(input.name);
    for (const Tensor &tensor : graph.initializers)
      used.insert(tensor.name);
    forEachNode(graph, [&](const Node &node) {
      used.insert(node.outputs.begin(), node.outputs.end());
      for (const Attribute &a : node.attributes)
        for (const auto &sub : a.graphs) {
          for (const ValueInfo &input : sub->inputs)
            used.insert(input.name);
          for (const Tensor &tensor : sub->initializers)
            used.insert(tensor.name);
        }
    });
  }

  std::string fresh(const std::string &wanted) {
    std::string name = wanted;
    while (!used.insert(name).second)
      name = fmt::format("{}_{}", wanted, ++lastSuffix[wanted]);
    return name;
  }

  size_t countNodes(const std::vector<Node> &nodes, std::vector<const LocalFunction *> &callers) {
    size_t count = nodes.size();
    for (const Node &node : nodes) {
      for (const Attribute &a : node.attributes)
        for (const auto &sub : a.graphs)
          count += countNodes(sub->nodes, callers);
      if (const LocalFunction *function = callee(node))
        count += countNodes(node, *function, callers);
      if (count > maxInlinedNodes)
        failTooLarge();
    }
    return count;
  }

  [[noreturn]] void failTooLarge() const {
    fail("{}: inlining its functions gives more than {} nodes; expected a smaller model", model.path,
         maxInlinedNodes);
  }

  size_t countNodes(const Node &call, const LocalFunction &function,
                    std::vector<const LocalFunction *> &callers) {
    auto known = sizes.find(&function);
    if (known != sizes.end())
      return known->second;
    if (std::find(callers.begin(), callers.end(), &function) != callers.end())
      fail("{}: {} calls function '{}', which calls itself; expected functions without recursion", model.path,
           call.describe(), function.name);
    if (callers.size() >= maxCallDepth)
      fail("{}: {}: functions call each other more than {} deep; expected less nesting", model.path,
           call.describe(), maxCallDepth);
    callers.push_back(&function);
    size_t count = countNodes(function.nodes, callers);
    callers.pop_back();
    return sizes[&function] = count;
  }

  const LocalFunction *callee(const Node &node) const {
    auto entry = functions.find({node.domain, node.opType, node.overload});
    return entry == functions.end() ? nullptr : entry->second;
  }

  void expandNode(Node &&node, std::vector<Node> &result) {
    const LocalFunction *function = callee(node);
    if (!function) {
      // checkSize() does not see how often a body uses a graph that was passed to it.
      if (++nodeCount > maxInlinedNodes)
        failTooLarge();
      for (Attribute &a : node.attributes)
        for (auto &sub : a.graphs)
          expand(*sub);
      result.push_back(std::move(node));
      return;
    }
    checkCall(node, *function);
    for (const NodeDevices &devices : node.devices)
      model.annotatedCalls.emplace_back(devices.configuration, node.describe());
    std::vector<Node> body = instantiate(node, *function);
    for (Node &inner : body)
      expandNode(std::move(inner), result);
  }

  void checkCall(const Node &call, const LocalFunction &function) const {
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
      fail("{}: {} has {} inputs and {} outputs; function '{}' has {} and {}. Export the model again",
           model.path, call.describe(), call.inputs.size(), call.outputs.size(), function.name,
           function.inputs.size(), function.outputs.size());
  }

  std::vector<Node> instantiate(const Node &call, const LocalFunction &function) {
    std::string prefix = call.name.empty() ? firstOutput(call) : call.name;
    Renaming names;
    std::vector<Node> copies;
    for (size_t k = 0; k < function.inputs.size(); ++k)
      names[function.inputs[k]] = call.input(k);
    for (size_t k = 0; k < function.outputs.size(); ++k) {
      const std::string &inner = function.outputs[k];
      if (!call.hasOutput(k))
        continue;
      if (!names.emplace(inner, call.outputs[k]).second)
        copies.push_back(identity(call, function, inner, call.outputs[k]));
    }
    for (const Node &node : function.nodes)
      for (const std::string &output : node.outputs)
        if (!output.empty() && !names.contains(output))
          names[output] = fresh(prefix + "/" + output);

    std::vector<Node> body;
    for (const Node &node : function.nodes)
      body.push_back(copyNode(node, call, function, names, prefix));
    for (Node &copy : copies) {
      copy.inputs[0] = rename(copy, function, copy.inputs[0], names);
      body.push_back(std::move(copy));
    }
    keepValueMetadata(function, names);
    return body;
  }

  static std::string firstOutput(const Node &call) {
    for (const std::string &output : call.outputs)
      if (!output.empty())
        return output;
    return call.opType;
  }

  /// For a function output that is an input, or listed twice: it needs a name of its own.
  Node identity(const Node &call, const LocalFunction &function, const std::string &from,
                const std::string &to) const {
    Node node;
    node.opType = "Identity";
    node.name = call.name;
    node.inputs = {from};
    node.outputs = {to};
    node.metadata = call.metadata;
    auto own = function.opsets.find("");
    auto imported = model.opsets.find("");
    node.opset = own != function.opsets.end()     ? own->second
                 : imported != model.opsets.end() ? imported->second
                                                  : newestOpset;
    return node;
  }

  std::string rename(const Node &node, const LocalFunction &function, const std::string &name,
                     const Renaming &names) const {
    if (name.empty())
      return name;
    auto entry = names.find(name);
    if (entry == names.end())
      fail("{}: function '{}': {} uses '{}', which nothing in the function makes. Export the model again",
           model.path, function.name, node.describe(), name);
    return entry->second;
  }

  Node copyNode(const Node &node, const Node &call, const LocalFunction &function, const Renaming &names,
                const std::string &prefix) {
    Node copy = node;
    copy.attributes.clear();
    for (std::string &input : copy.inputs)
      input = rename(node, function, input, names);
    for (std::string &output : copy.outputs)
      output = rename(node, function, output, names);
    copy.name = node.name.empty() ? prefix : prefix + "/" + node.name;
    copy.metadata.insert(call.metadata.begin(), call.metadata.end());
    for (const Attribute &a : node.attributes)
      if (std::optional<Attribute> bound = bindAttribute(a, node, call, function)) {
        for (auto &sub : bound->graphs)
          // A graph that the caller passed in already has the caller's names.
          sub = a.refAttrName.empty()
                    ? std::make_shared<Graph>(copyGraph(*sub, call, function, names, prefix))
                    : std::make_shared<Graph>(*sub);
        copy.attributes.push_back(std::move(*bound));
      }
    return copy;
  }

  std::optional<Attribute> bindAttribute(const Attribute &a, const Node &node, const Node &call,
                                         const LocalFunction &function) const {
    if (a.refAttrName.empty())
      return a;
    const Attribute *value = call.find(a.refAttrName);
    if (!value)
      for (const Attribute &byDefault : function.attributeDefaults)
        if (byDefault.name == a.refAttrName)
          value = &byDefault;
    if (!value)
      return std::nullopt;
    if (a.kind != Attribute::Kind::Undefined && value->kind != a.kind)
      fail("{}: {} passes attribute '{}' of kind {}; {} in function '{}' expected {}", model.path,
           call.describe(), a.refAttrName, attributeKindName(value->kind), node.describe(), function.name,
           attributeKindName(a.kind));
    Attribute bound = *value;
    bound.name = a.name;
    return bound;
  }

  /// A subgraph of a function body: its own values get fresh names, outer ones those of the instance.
  Graph copyGraph(const Graph &graph, const Node &call, const LocalFunction &function, Renaming names,
                  const std::string &prefix) {
    Graph copy = graph;
    auto define = [&](std::string &name) {
      if (!name.empty())
        name = names[name] = fresh(prefix + "/" + name);
    };
    for (ValueInfo &input : copy.inputs)
      define(input.name);
    for (Tensor &tensor : copy.initializers)
      if (graph.findInput(tensor.name))
        tensor.name = names[tensor.name];
      else
        define(tensor.name);
    for (Node &node : copy.nodes)
      for (std::string output : node.outputs)
        define(output);
    copy.nodes.clear();
    for (const Node &node : graph.nodes)
      copy.nodes.push_back(copyNode(node, call, function, names, prefix));
    for (ValueInfo &output : copy.outputs)
      if (auto entry = names.find(output.name); entry != names.end())
        output.name = entry->second;
    copy.valueInfos.eraseIf([&](ValueInfo &info) {
      auto entry = names.find(info.name);
      if (entry != names.end())
        info.name = entry->second;
      return entry == names.end();
    });
    return copy;
  }

  /// Types that a function declares may hold for one call only; what exporters noted on its values is kept.
  void keepValueMetadata(const LocalFunction &function, const Renaming &names) {
    for (const ValueInfo &info : function.valueInfos) {
      auto entry = names.find(info.name);
      if (info.metadata.empty() || entry == names.end() || entry->second.empty() ||
          current->findValueInfo(entry->second))
        continue;
      ValueInfo kept;
      kept.name = entry->second;
      kept.metadata = info.metadata;
      current->valueInfos.push_back(std::move(kept));
    }
  }

  Model &model;
  std::map<FunctionKey, const LocalFunction *> functions;
  std::unordered_set<std::string> used;
  std::unordered_map<std::string, size_t> lastSuffix;
  std::unordered_map<const LocalFunction *, size_t> sizes; // nodes after inlining
  size_t nodeCount = 0;
  Graph *current = nullptr;
};

} // namespace

void inlineFunctions(Model &model) {
  if (!model.functions.empty()) {
    Inliner inliner(model);
    std::vector<Graph *> graphs{&model.graph};
    for (TrainingInfo &info : model.trainingInfo)
      for (std::optional<Graph> *graph : {&info.initialization, &info.algorithm})
        if (*graph)
          graphs.push_back(&**graph);
    for (Graph *graph : graphs)
      inliner.checkSize(*graph);
    for (Graph *graph : graphs)
      inliner.expand(*graph);
    model.functions.clear();
  }
  checkAndSort(model);
  numberNodes(model);
}

} // namespace kedge::model
