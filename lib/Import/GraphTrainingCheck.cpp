#include "lib/Import/Training.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace kedge;
using namespace kedge::importer;
using model::Graph;
using model::Node;
using model::trainingDomain;

namespace {
class TrainingCheck {
public:
  explicit TrainingCheck(const model::Model &model) : model(model) {}

  void run() {
    addNames(model.graph);
    for (auto [k, info] : llvm::enumerate(model.trainingInfo)) {
      place = fmt::format("{}: training_info {}", model.path, k);
      if (!info.algorithm)
        fail("{} has no algorithm; expected the graph of one iteration", place);
      addNames(*info.algorithm);
    }
    for (auto [k, info] : llvm::enumerate(model.trainingInfo)) {
      place = fmt::format("{}: training_info {}", model.path, k);
      checkInitialization(info);
      checkBinding(info.updateBinding, *info.algorithm, "update_binding", "algorithm");
      for (const Node &node : info.algorithm->nodes)
        if (node.is("Gradient", trainingDomain))
          checkGradient(node, *info.algorithm);
    }
  }

private:
  void addNames(const Graph &graph) {
    for (const model::Tensor &tensor : graph.initializers)
      if (!initializers.insert(tensor.name).second)
        fail("{}: initializer '{}' occurs in two graphs; expected one name, one variable. Rename one of them",
             place, tensor.name);
  }

  void checkInitialization(const model::TrainingInfo &info) {
    if (!info.initialization) {
      if (!info.initializationBinding.empty())
        fail("{} has an initialization_binding ('{}') but no initialization graph", place,
             info.initializationBinding[0].first);
      return;
    }
    if (auto feeds = info.initialization->feeds(); !feeds.empty())
      fail("{}: the initialization graph has the input {}; expected none: nothing could feed it", place,
           feeds[0]->describe());
    checkBinding(info.initializationBinding, *info.initialization, "initialization_binding",
                 "initialization graph");
  }

  void checkBinding(const std::vector<std::pair<std::string, std::string>> &bindings, const Graph &graph,
                    const char *what, const char *where) {
    std::set<std::string> keys;
    for (const auto &[key, value] : bindings) {
      if (!initializers.count(key))
        fail("{}: {} names the variable '{}', which is no initializer of the main graph or an algorithm",
             place, what, key);
      if (!keys.insert(key).second)
        fail("{}: {} sets '{}' twice; expected one value a variable", place, what, key);
      if (!graph.findOutput(value))
        fail("{}: {} gives '{}' the value '{}', which is no output of the {}; its outputs are: {}", place,
             what, key, value, where,
             fmt::join(llvm::map_range(graph.outputs, [](const auto &v) { return v.name; }), ", "));
    }
  }

  bool isKnown(const std::string &name, const Graph &algorithm) const {
    auto within = [&](const Graph &graph) {
      return graph.findInput(name) || graph.findInitializer(name) ||
             llvm::any_of(graph.nodes,
                          [&](const Node &node) { return llvm::is_contained(node.outputs, name); });
    };
    return initializers.count(name) || within(model.graph) || within(algorithm);
  }

  void checkGradient(const Node &node, const Graph &algorithm) {
    std::vector<std::string> expected = node.attrStrings("xs");
    if (expected.empty())
      fail("{}: {}: attribute xs is missing or empty; expected the names to differentiate with respect to",
           place, node.describe());
    if (node.outputs.size() > expected.size())
      fail("{}: {} has {} outputs, but xs names {} values", place, node.describe(), node.outputs.size(),
           expected.size());
    for (const std::string &z : node.attrStrings("zs"))
      expected.push_back(z);
    for (const std::string &name : expected)
      requireKnown(node, name, algorithm, "xs or zs");
    requireKnown(node, node.attrString("y"), algorithm, "y");
    if (node.inputs != expected)
      fail("{}: {}: the inputs are ({}), expected the values that xs and zs name: ({}). Gradients at other "
           "values are "
           "not available yet",
           place, node.describe(), fmt::join(node.inputs, ", "), fmt::join(expected, ", "));
  }

  void requireKnown(const Node &node, const std::string &name, const Graph &algorithm,
                    const char *attribute) {
    if (!isKnown(name, algorithm))
      fail("{}: {}: {} names '{}', which is no value of the main graph or the algorithm", place,
           node.describe(), attribute, name);
  }

  const model::Model &model;
  std::string place = model.path;
  std::set<std::string> initializers; // of the main graph and all algorithms
};
} // namespace

void kedge::importer::checkTraining(const model::Model &model) { TrainingCheck(model).run(); }

std::vector<Node> kedge::importer::algorithmNodes(const Graph &algorithm) {
  std::vector<Node> nodes = algorithm.nodes;
  for (Node &node : nodes) {
    if (!node.is("Gradient", trainingDomain))
      continue;
    node.domain = "kedge";
    node.inputs = node.attrStrings("xs");
    node.inputs.insert(node.inputs.begin(), node.attrString("y"));
  }
  return nodes;
}
