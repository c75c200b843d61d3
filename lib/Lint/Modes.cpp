#include "lib/Lint/Modes.h"

namespace kedge::lint {
using model::Node;

KnownValues::KnownValues(const model::Graph &graph) {
  for (const model::Tensor &tensor : graph.initializers)
    initializers.emplace(tensor.name, &tensor);
  model::forEachNode(graph, [&](const Node &node) {
    if ((node.is("Constant") || node.is("Identity")) && node.hasOutput(0))
      constants.emplace(node.outputs[0], &node);
  });
}

std::optional<double> KnownValues::scalar(const std::string &name) const {
  auto single = [](const model::Tensor &tensor) -> std::optional<double> {
    if (!tensor.isScalarLike() || tensor.dtype == model::DType::String)
      return std::nullopt;
    return model::isFloat(tensor.dtype) ? tensor.floats()[0] : static_cast<double>(tensor.ints()[0]);
  };
  if (auto found = initializers.find(name); found != initializers.end())
    return single(*found->second);
  auto found = constants.find(name);
  if (found == constants.end())
    return std::nullopt;
  if (found->second->is("Identity"))
    return found->second->input(0) == name ? std::nullopt : scalar(found->second->input(0));
  return single(model::constantValue(*found->second));
}

bool isBatchNormTraining(const Node &node) {
  if (node.opset >= 14)
    return node.attrBool("training_mode", false);
  if (node.opset < 7)
    return !node.attrBool("is_test", false);
  // Up to opset 13 the outputs told: mean, variance and their saved values are written in training only.
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (node.hasOutput(k))
      return true;
  return false;
}

std::optional<double> dropoutRatio(const Node &node, const KnownValues &values) {
  if (node.opset < 12)
    return node.attrFloat("ratio", 0.5f);
  return node.hasInput(1) ? values.scalar(node.input(1)) : std::optional(0.5);
}

std::optional<bool> isDropoutTraining(const Node &node, const KnownValues &values) {
  if (node.opset < 12 || !node.hasInput(2))
    return false;
  std::optional<double> mode = values.scalar(node.input(2));
  return mode ? std::optional(*mode != 0) : std::nullopt;
}

} // namespace kedge::lint
