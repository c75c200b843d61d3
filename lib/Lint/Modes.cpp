#include "lib/Lint/Modes.h"
#include "lib/Lint/Classify.h"
#include "lib/Lint/ExporterMetadata.h"
#include "lib/Lint/Lint.h"
#include "lib/Lint/LostDropout.h"
#include "lib/Support/Error.h"
#include <algorithm>

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
    if (!tensor.isScalarLike() || tensor.dtype == model::ElementType::String)
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

std::optional<bool> wasTraining(const Node &node) {
  if (isBatchNormTraining(node))
    return true;
  const std::optional<FxCall> call = FxCall::of(node);
  if (!call || call->target.find("batch_norm") == std::string::npos)
    return std::nullopt;
  if (call->target.ends_with("_no_training"))
    return false;
  constexpr size_t training =
      5; // of batch_norm(input, weight, bias, running_mean, running_var, training, ...)
  const std::string &text = call->arguments.size() > training ? call->arguments[training].text : "";
  return text == "True" ? std::optional(true) : text == "False" ? std::optional(false) : std::nullopt;
}

std::optional<bool> wasDropoutTraining(const Node &node) {
  const std::optional<FxCall> call = FxCall::of(node);
  if (!call || call->target.find("dropout") == std::string::npos)
    return std::nullopt;
  constexpr size_t training = 2; // of dropout(input, p, train) and native_dropout
  const std::string &text = call->arguments.size() > training ? call->arguments[training].text : "";
  return text == "True" ? std::optional(true) : text == "False" ? std::optional(false) : std::nullopt;
}

NormModes::NormModes(const model::Graph &graph) {
  const KnownValues values(graph);
  someDropout = LostDropout(graph).any();
  model::forEachNode(graph, [&](const Node &node) {
    if (node.is("Dropout"))
      someDropout |= isDropoutTraining(node, values) == true || wasDropoutTraining(node) == true;
    if (!node.is("BatchNormalization"))
      return;
    someTrained |= wasTraining(node) == true;
    formTells |= isBatchNormTraining(node);
  });
}

bool NormModes::staysFrozen(const Node &node) const {
  return someTrained && !isBatchNormTraining(node) && !wasTraining(node).value_or(!formTells);
}

ModuleChoice::ModuleChoice(const std::vector<std::string> &texts)
    : texts(texts), patterns(patternsOf(texts, "--train-mode")), used(texts.size(), false) {}

/// Names under which a user knows the module of a node.
static std::vector<std::string> namesOf(const Node &node) {
  std::vector<std::string> names{node.name};
  if (const std::string module = moduleOf(node); !module.empty())
    names.insert(names.end(), {module, module + "."});
  if (node.is("BatchNormalization"))
    names.insert(names.end(), node.inputs.begin() + std::min<size_t>(1, node.inputs.size()),
                 node.inputs.end());
  return names;
}

bool ModuleChoice::fits(const Node &node) {
  bool any = false;
  for (const std::string &name : namesOf(node))
    for (size_t i = 0; i < patterns.size(); ++i)
      if (patterns[i](name))
        any = used[i] = true;
  return any;
}

void ModuleChoice::checkUsed(const model::Graph &graph) const {
  std::vector<std::string> modules;
  model::forEachNode(graph, [&](const Node &node) {
    if (node.is("BatchNormalization") || node.is("Dropout"))
      modules.push_back(moduleOf(node).empty() ? node.name : moduleOf(node));
  });
  for (size_t i = 0; i < texts.size(); ++i)
    if (!used[i])
      fail("--train-mode '{}' matches no Dropout and no BatchNormalization{}", texts[i],
           similarNames(texts[i], modules));
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
