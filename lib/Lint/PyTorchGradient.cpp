// What the exporter's metadata say about the gradient of the function that a node came from.
#include "lib/Lint/ExporterMetadata.h"
#include "lib/Lint/Lint.h"
#include <algorithm>
#include <set>

namespace kedge::lint {

namespace {
/// "max.dim" of "... call_function[target=torch.ops.aten.max.dim](args = ...", "" for what is no function of
/// ATen.
std::string overloadOf(const model::Node &node) {
  static const std::string before = "[target=torch.ops.aten.";
  const std::string &text = node.meta(key::fxNode);
  const size_t from = text.find(before);
  const size_t end = from == std::string::npos ? from : text.find(']', from);
  return end == std::string::npos ? std::string()
                                  : text.substr(from + before.size(), end - from - before.size());
}

/// clamp(x, -1, 1) or, as torch.export writes it, clamp(x, %scalar_tensor_default, ...): by numbers, and not
/// by tensors of the model.
bool clampsByNumbers(const std::string &function, const model::Node &node) {
  static const std::set<std::string> numbers = {"clamp.default",     "clamp_.default", "clamp_min.default",
                                                "clamp_max.default", "clip.default",   "hardtanh.default",
                                                "hardtanh_.default", "relu6.default"};
  static const std::set<std::string> tensors = {"clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor"};
  if (numbers.count(function))
    return true;
  std::optional<FxCall> call = tensors.count(function) ? FxCall::of(node) : std::nullopt;
  if (!call)
    return false;
  const std::vector<std::string> values = call->refs();
  return std::all_of(values.begin() + std::min<size_t>(1, values.size()), values.end(),
                     [](const std::string &value) { return value.starts_with("scalar_tensor"); });
}
bool scalesByFrequency(const std::string &function, const model::Node &node) {
  std::optional<FxCall> call = function == "embedding.default" ? FxCall::of(node) : std::nullopt;
  if (!call)
    return false;
  auto found = call->keywords.find("scale_grad_by_freq");
  return (call->arguments.size() > 3 && call->arguments[3].text == "True") ||
         (found != call->keywords.end() && found->second.text == "True");
}
} // namespace

PyTorchGradient pyTorchGradient(const model::Node &node) {
  const std::string function = overloadOf(node);
  PyTorchGradient gradient;
  gradient.stops = function == "detach.default" || function == "detach_.default";
  gradient.clamps = clampsByNumbers(function, node);
  gradient.scalesByFrequency = node.is("Gather") && scalesByFrequency(function, node);
  gradient.firstOfEqual = function == "max.dim" || function == "min.dim";
  return gradient;
}

namespace {
/// jax2onnx calls the result of lax.stop_gradient stop_out_N (jax2onnx/plugins/jax/lax/stop_gradient.py).
bool isStopOfJax(const model::Node &node) {
  static const std::string name = "stop_out_";
  if (node.outputs.empty() || !node.outputs[0].starts_with(name) || !node.meta(key::fxNode).empty())
    return false;
  const std::string number = node.outputs[0].substr(name.size());
  return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
}
} // namespace

bool stopsGradient(const model::Node &node) {
  return node.is("Identity") && (isStopOfJax(node) || pyTorchGradient(node).stops);
}

} // namespace kedge::lint
