#include "driver/artifacts/ForwardModel.h"
#include "lib/Lint/ExporterMetadata.h"
#include "lib/Model/Specialize.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <set>

namespace kedge::driver {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

/// What a node reads, with what its subgraphs read from around them.
std::vector<std::string> readBy(const model::Node &node) {
  std::vector<std::string> values = node.inputs;
  for (const model::Attribute &attribute : node.attributes)
    for (const auto &graph : attribute.graphs) {
      model::forEachNode(*graph, [&](const model::Node &inner) {
        values.insert(values.end(), inner.inputs.begin(), inner.inputs.end());
      });
      for (const model::ValueInfo &output : graph->outputs)
        values.push_back(output.name);
    }
  return values;
}

class ForwardPart {
public:
  ForwardPart(const model::Model &training, const TrainedValues &checkpoint)
      : training(training), checkpoint(checkpoint), model(training) {}

  ForwardModel take() {
    takeOutputs();
    takeNodes();
    takeInputs();
    takeInitializers();
    addOutputs();
    model.producer = "kedge artifacts";
    return {std::move(model), loss};
  }

private:
  /// The first output is the loss; an accumulator's says that gradients are there.
  void takeOutputs() {
    std::set<std::string> gradients;
    for (const model::Node &node : training.graph.nodes)
      if (model::isGradientBuffer(node))
        gradients.insert(node.outputs.begin(), node.outputs.end());
    std::erase_if(model.graph.outputs,
                  [&](const model::ValueInfo &output) { return gradients.count(output.name) != 0; });
    if (model.graph.outputs.empty())
      fail("{}: expected a loss as the first output, found gradients alone", training.path);
    loss = model.graph.outputs.front().name;
  }

  void takeNodes() {
    for (const model::ValueInfo &output : model.graph.outputs)
      needed.insert(output.name);
    std::vector<model::Node> kept;
    const auto &nodes = training.graph.nodes; // in topological order
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const bool isNeeded = std::any_of(node->outputs.begin(), node->outputs.end(),
                                        [&](const std::string &value) { return needed.count(value) != 0; });
      if (!isNeeded)
        continue;
      for (const std::string &value : readBy(*node))
        needed.insert(value);
      kept.push_back(asExported(*node));
    }
    model.graph.nodes.assign(kept.rbegin(), kept.rend());
  }

  /// A node as it was before onnxruntime gave it what its gradient reads.
  model::Node asExported(model::Node node) const {
    if (node.is("BatchNormInternal", kMicrosoft)) {
      node.opType = "BatchNormalization";
      node.domain.clear();
      node.outputs.resize(std::min<size_t>(node.outputs.size(), 3));
      node.set(model::Attribute::makeInt("training_mode", 1));
      return node;
    }
    if (node.is("ConcatTraining", kMicrosoft)) {
      node.opType = "Concat";
      node.domain.clear();
    }
    while (node.outputs.size() > 1 && needed.count(node.outputs.back()) == 0)
      node.outputs.pop_back();
    return node;
  }

  void takeInputs() {
    checkGradients();
    std::erase_if(model.graph.inputs,
                  [&](const model::ValueInfo &input) { return needed.count(input.name) == 0; });
    std::set<std::string> parameters;
    for (const auto *tensors : {&checkpoint.trained, &checkpoint.frozen})
      for (const model::Tensor &tensor : *tensors) {
        const model::ValueInfo *input = training.graph.findInput(tensor.name);
        if (input)
          checkFits(tensor, *input);
        parameters.insert(tensor.name);
      }
    std::erase_if(model.graph.inputs,
                  [&](const model::ValueInfo &input) { return parameters.count(input.name) != 0; });
  }

  /// Each parameter with a gradient has a value; without one it would be taken for data.
  void checkGradients() const {
    constexpr std::string_view kBuffer = "_grad.accumulation.buffer";
    std::set<std::string> trained;
    for (const model::Tensor &tensor : checkpoint.trained)
      trained.insert(tensor.name);
    for (const model::ValueInfo &input : training.graph.inputs) {
      if (!input.name.ends_with(kBuffer))
        continue;
      const std::string parameter = input.name.substr(0, input.name.size() - kBuffer.size());
      if (trained.count(parameter) == 0)
        fail("{}: '{}' has a gradient, and the checkpoint has no value of it; give the files of one "
             "generate_artifacts()",
             training.path, parameter);
    }
  }

  void checkFits(const model::Tensor &tensor, const model::ValueInfo &input) const {
    bool fits = tensor.dtype == input.dtype && (!input.hasShape || tensor.dims.size() == input.dims.size());
    for (size_t axis = 0; fits && input.hasShape && axis < input.dims.size(); ++axis)
      fits = !input.dims[axis].isValue() || input.dims[axis].value == tensor.dims[axis];
    if (!fits)
      fail("{}: the parameter is {}, and in the checkpoint it is {}; give the files of one "
           "generate_artifacts()",
           training.path, input.describe(), tensor.describe());
  }

  void takeInitializers() {
    model.graph.initializers.eraseIf(
        [&](const model::Tensor &tensor) { return needed.count(tensor.name) == 0; });
    take(checkpoint.trained, "true");
    take(checkpoint.frozen, "false");
  }

  void take(const std::vector<model::Tensor> &tensors, const char *requiresGradient) {
    for (model::Tensor tensor : tensors) {
      if (needed.count(tensor.name) == 0 || model.graph.findInitializer(tensor.name))
        continue;
      tensor.metadata[lint::key::requiresGrad] = requiresGradient;
      model.graph.initializers.push_back(std::move(tensor));
    }
  }

  /// Nodes of a loss that onnxruntime.training.onnxblock made have names and outputs of this form. What they
  /// read is what the exported model gave.
  static bool isOfLoss(const std::string &name) { return name.starts_with("onnx::"); }

  void addOutputs() {
    std::set<std::string> made;
    for (const model::Node &node : model.graph.nodes)
      if (!isOfLoss(node.name))
        made.insert(node.outputs.begin(), node.outputs.end());
    for (const model::Node &node : model.graph.nodes)
      for (const std::string &value : node.inputs)
        if (isOfLoss(node.name) && made.count(value) != 0 && !model.graph.findOutput(value))
          model.graph.outputs.push_back(typeOf(value));
  }

  model::ValueInfo typeOf(const std::string &value) const {
    if (const model::ValueInfo *known = training.graph.findValueInfo(value))
      return *known;
    model::ValueInfo info;
    info.name = value;
    info.kind = model::ValueInfo::Kind::Tensor;
    info.dtype = model::ElementType::Float;
    return info;
  }

  const model::Model &training;
  const TrainedValues &checkpoint;
  model::Model model;
  std::string loss;
  std::set<std::string> needed;
};

} // namespace

ForwardModel forwardModel(const model::Model &training, const TrainedValues &checkpoint) {
  return ForwardPart(training, checkpoint).take();
}

} // namespace kedge::driver
