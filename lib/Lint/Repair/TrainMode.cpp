// --train-mode: Dropout and BatchNormalization as they are in training, in a form that knows training.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/LostDropout.h"
#include "lib/Lint/Modes.h"
#include "lib/Lint/Repair/Repair.h"
#include <algorithm>

namespace kedge::lint {
using model::Attribute;
using model::Graph;
using model::Node;
using model::Tensor;

namespace {
constexpr int64_t dropoutWithMode = 13, batchNormWithMode = 15; // first opsets of today's forms

/// A name that the graph does not have yet.
std::string freshName(const Graph &graph, std::string name) {
  while (graph.findInitializer(name))
    name += "_";
  return name;
}

class TrainMode {
public:
  TrainMode(Graph &graph, const std::vector<std::string> &modules, bool recorded)
      : graph(graph), values(graph), choice(modules), modes(graph), attention(graph), recorded(recorded) {}

  std::vector<std::string> run() {
    size_t norms = 0, dropouts = 0;
    model::forEachNode(graph, [&](Node &node) {
      norms += node.is("BatchNormalization") && isWanted(node) && turnOnNorm(node);
      dropouts += node.is("Dropout") && isWanted(node) && turnOnDropout(node);
    });
    const size_t restored = restoreLostDropouts();
    choice.checkUsed(graph);
    const char *why = recorded ? ", as when the file was exported" : "";
    std::vector<std::string> changes;
    if (norms)
      changes.push_back(fmt::format("{} BatchNormalization set to training mode{}", norms, why));
    if (dropouts)
      changes.push_back(fmt::format("{} Dropout set to training mode{}", dropouts, why));
    if (restored)
      changes.push_back(fmt::format("{} that the exporter left out of attention, as its call records",
                                    countOf(restored, "Dropout", "Dropouts")));
    for (Tensor &tensor : added)
      graph.initializers.push_back(std::move(tensor));
    return changes;
  }

private:
  bool isWanted(const Node &node) {
    if (recorded)
      return attention.isOn(node) ||
             (node.is("Dropout") ? wasDropoutTraining(node) : wasTraining(node)) == true;
    return choice.given() ? choice.fits(node) : !(node.is("BatchNormalization") && modes.staysFrozen(node));
  }

  bool turnOnNorm(Node &node) {
    if (isBatchNormTraining(node))
      return false;
    node.set(Attribute::makeInt("training_mode", 1));
    node.erase("is_test");
    node.opset = std::max(node.opset, batchNormWithMode);
    return true;
  }

  bool turnOnDropout(Node &node) {
    std::optional<double> ratio = dropoutRatio(node, values);
    std::optional<bool> training = isDropoutTraining(node, values);
    if (!ratio || *ratio <= 0 || !training || *training)
      return false;
    if (node.opset < 12) {
      node.inputs.resize(1);
      node.inputs.push_back(addTensor(
          Tensor::makeFloats(freshName(graph, node.output(0) + "/ratio"), {}, {static_cast<float>(*ratio)})));
      node.erase("ratio");
      node.erase("is_test");
      node.opset = dropoutWithMode;
    }
    node.inputs.resize(3);
    node.inputs[2] = inTraining();
    return true;
  }

  size_t restoreLostDropouts() {
    const std::vector<MissingDropout> &missing = attention.missing();
    size_t restored = 0;
    for (auto one = missing.rbegin(); one != missing.rend(); ++one) { // from the end: places before it stay
      Node &product = graph.nodes[one->product];
      if (!recorded && choice.given() && !choice.fits(product))
        continue;
      const std::string name = product.name + "/dropout";
      const std::string ratio =
          addTensor(Tensor::makeFloats(freshName(graph, name + "/ratio"), {}, {one->ratio}));
      Node dropout = makeNode("Dropout", {product.input(0), ratio, inTraining()}, name);
      dropout.opset = std::max(product.opset, dropoutWithMode);
      dropout.metadata = product.metadata;
      dropout.id = graph.nodes[one->probabilities].id; // a Softmax draws no numbers
      product.inputs[0] = name;
      graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(one->product), std::move(dropout));
      ++restored;
    }
    return restored;
  }

  const std::string &inTraining() {
    if (!on)
      on =
          addTensor(Tensor::make(freshName(graph, "kedge/training_mode"), model::ElementType::Bool, {}, {1}));
    return *on;
  }

  std::string addTensor(Tensor tensor) {
    added.push_back(std::move(tensor));
    return added.back().name;
  }

  Graph &graph;
  KnownValues values;
  ModuleChoice choice;
  NormModes modes;
  LostDropout attention;
  bool recorded;
  std::vector<Tensor> added; // behind the walk: the values above point into the initializers
  std::optional<std::string> on;
};
} // namespace

std::vector<std::string> setTrainMode(model::Model &model, const std::vector<std::string> &modules) {
  return TrainMode(model.graph, modules, /*recorded=*/false).run();
}

std::vector<std::string> setRecordedModes(model::Model &model) {
  return TrainMode(model.graph, {}, /*recorded=*/true).run();
}

} // namespace kedge::lint
