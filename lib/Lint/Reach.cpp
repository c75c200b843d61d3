#include "lib/Lint/Reach.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Support/Error.h"
#include <algorithm>

namespace kedge::lint {
using model::Graph;
using model::Model;
using model::Node;
using model::trainingDomain;

namespace {
void collectOuterReads(const Graph &graph, std::vector<std::string> &reads) {
  std::set<std::string> inner;
  for (const model::ValueInfo &input : graph.inputs)
    inner.insert(input.name);
  for (const model::Tensor &tensor : graph.initializers)
    inner.insert(tensor.name);
  for (const Node &node : graph.nodes) {
    for (const std::string &name : readsOf(node))
      if (!name.empty() && !inner.count(name))
        reads.push_back(name);
    inner.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const model::ValueInfo &output : graph.outputs)
    if (!inner.count(output.name))
      reads.push_back(output.name);
}

bool isGradient(const Node &node) { return node.is("Gradient", trainingDomain); }

bool isKnown(const Model &model, const std::string &name) {
  if (model.graph.findInput(name) || model.graph.findOutput(name))
    return true;
  for (const Node *node : stepNodes(model))
    if (std::find(node->outputs.begin(), node->outputs.end(), name) != node->outputs.end())
      return true;
  return false;
}

[[noreturn]] void failUnknown(const Model &model, const std::string &option, const std::string &name) {
  std::string outputs;
  for (const model::ValueInfo &output : model.graph.outputs)
    outputs += (outputs.empty() ? "'" : ", '") + output.name + "'";
  fail("{}: {} names '{}', but the model has no such value; its outputs are {}", model.path, option, name,
       outputs);
}
} // namespace

std::vector<std::string> readsOf(const Node &node) {
  std::vector<std::string> reads = node.inputs;
  for (const model::Attribute &attribute : node.attributes)
    for (const std::shared_ptr<Graph> &graph : attribute.graphs)
      collectOuterReads(*graph, reads);
  return reads;
}

std::vector<const Node *> stepNodes(const Model &model) {
  std::vector<const Node *> nodes;
  for (const Node &node : model.graph.nodes)
    nodes.push_back(&node);
  if (!model.trainingInfo.empty() && model.trainingInfo[0].algorithm)
    for (const Node &node : model.trainingInfo[0].algorithm->nodes)
      nodes.push_back(&node);
  return nodes;
}

std::string onlyFloatOutput(const Graph &graph, const std::vector<std::string> &losses) {
  std::string name;
  for (const model::ValueInfo &output : graph.outputs)
    if (model::isFloat(output.dtype) &&
        std::find(losses.begin(), losses.end(), output.name) == losses.end()) {
      if (!name.empty())
        return "";
      name = output.name;
    }
  return name;
}

std::vector<std::string> gradientRoots(const Model &model, const LintOptions &options) {
  std::vector<std::string> roots;
  for (const Node *node : stepNodes(model))
    if (isGradient(*node))
      roots.push_back(node->attrString("y"));
  if (!roots.empty())
    return roots;
  const auto take = [&](const char *option, const std::string &name) {
    if (!isKnown(model, name))
      failUnknown(model, option, name);
    roots.push_back(name);
  };
  for (const std::string &name : options.lossOutputs)
    take("--loss-output", name);
  const bool hasLoss = options.loss && *options.loss != LossFunction::None;
  if (!roots.empty() && !hasLoss)
    return roots;
  if (!options.logits.empty()) {
    take("--logits", options.logits);
    return roots;
  }
  for (const model::ValueInfo &output : model.graph.outputs)
    if ((model::isFloat(output.dtype) || output.dtype == model::ElementType::Undefined) &&
        std::find(roots.begin(), roots.end(), output.name) == roots.end())
      roots.push_back(output.name);
  return roots;
}

/// Operand places beyond a node's own inputs belong to its subgraphs: gradients may flow there.
bool Reach::mayCarry(const Node &node, size_t operand) const {
  return operand >= node.inputs.size() ||
         (carriesGradient(node, operand) && operators.isDifferentiable(node.domain, node.opType, operand));
}

Reach::Reach(const Model &model, const std::vector<std::string> &roots, const Operators &operators)
    : operators(operators), nodes(stepNodes(model)), outer(nodes.begin(), nodes.end()),
      reached(roots.begin(), roots.end()) {
  std::set<std::string> integers;
  const auto note = [&](const model::ValueInfo &info) {
    if (info.kind == model::ValueInfo::Kind::Tensor && info.dtype != model::ElementType::Undefined &&
        !model::isFloat(info.dtype))
      integers.insert(info.name);
  };
  std::for_each(model.graph.valueInfos.begin(), model.graph.valueInfos.end(), note);
  std::for_each(model.graph.outputs.begin(), model.graph.outputs.end(), note);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const std::vector<std::string> &outputs = (*node)->outputs;
    bool arrives = std::any_of(outputs.begin(), outputs.end(), [&](const std::string &name) {
      return !name.empty() && reached.count(name) && !integers.count(name);
    });
    if (!arrives)
      continue;
    std::vector<std::string> reads = readsOf(**node);
    for (size_t k = 0; k < reads.size(); ++k)
      if (!reads[k].empty() && !integers.count(reads[k]) && mayCarry(**node, k))
        reached.insert(reads[k]);
  }
}

bool Reach::passes(const Node &node, size_t operand) const {
  if (!mayCarry(node, operand))
    return false;
  return !outer.count(&node) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                            [&](const std::string &out) { return reached.count(out) != 0; });
}

std::vector<const Node *> Reach::between(const std::set<std::string> &parameters) const {
  std::set<std::string> dependent = parameters;
  std::vector<const Node *> found;
  for (const Node *node : nodes) {
    std::vector<std::string> reads = readsOf(*node);
    bool depends = false;
    for (size_t k = 0; k < reads.size(); ++k)
      depends |= dependent.count(reads[k]) && mayCarry(*node, k);
    if (!depends)
      continue;
    bool arrives = false;
    for (const std::string &output : node->outputs)
      if (!output.empty()) {
        dependent.insert(output);
        arrives |= reaches(output);
      }
    if (arrives)
      found.push_back(node);
  }
  return found;
}

} // namespace kedge::lint
