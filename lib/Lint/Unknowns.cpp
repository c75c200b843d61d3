// What lint cannot see, because the file does not hold it: said beside "clean".
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Find/LostArguments.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Traced.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace kedge::lint {
using model::Node;

namespace {

/// A node whose name or metadata tells of an export in inference mode; "" when none does.
std::string inferenceHint(const model::Graph &graph) {
  const auto tells = [](const std::string &text) { return text.find("_no_training") != std::string::npos; };
  for (const Node &node : graph.nodes)
    if (tells(node.name) || tells(node.opType) || std::ranges::any_of(node.outputs, tells) ||
        std::ranges::any_of(node.metadata, [&](const auto &entry) { return tells(entry.second); }))
      return nodeName(node);
  return "";
}

bool has(const model::Graph &graph, const char *op) {
  bool found = false;
  model::forEachNode(graph, [&](const Node &node) { found |= node.is(op); });
  return found;
}

/// A convolution with a bias, which a folded BatchNormalization leaves behind; the legacy exporter also names
/// its new weight after the node.
const Node *foldedConvolution(const model::Graph &graph) {
  const Node *biased = nullptr;
  for (const Node &node : graph.nodes)
    if (node.is("Conv") && node.hasInput(2)) {
      if (isNumberedConv(node.input(1)))
        return &node;
      biased = biased ? biased : &node;
    }
  return biased;
}

/// Filters that are all equal (a blur), or rows that are sines (a Fourier basis).
bool looksLikeBuffer(const model::Tensor &tensor) {
  if (tensor.dims.size() < 2 || tensor.dims[0] < 2 || !model::isFloat(tensor.dtype) ||
      tensor.storage == model::Tensor::Storage::External || isUniform(tensor))
    return false;
  const std::vector<double> all = tensor.floats();
  const auto rows = static_cast<size_t>(tensor.dims[0]);
  const size_t length = all.size() / rows;
  bool equal = tensor.dims.size() > 2 && length > 1, sines = length >= 8;
  for (size_t row = 0; row < rows; ++row) {
    const double *at = all.data() + row * length;
    equal = equal && std::equal(at, at + length, all.data());
    double dot = 0, square = 0; // x[t+1] + x[t-1] = k x[t]
    for (size_t t = 1; sines && t + 1 < length; ++t) {
      dot += (at[t + 1] + at[t - 1]) * at[t];
      square += at[t] * at[t];
    }
    const double k = square > 0 ? dot / square : 0;
    for (size_t t = 1; sines && t + 1 < length; ++t)
      sines = std::abs(at[t + 1] + at[t - 1] - k * at[t]) <= 1e-3;
  }
  return equal || sines;
}

/// Module paths of buffers and of parameters are alike where nothing records which is which.
std::string namedBuffers(const Evidence &evidence) {
  std::vector<std::string> alike;
  bool any = false;
  for (const model::Tensor &tensor : evidence.model.graph.initializers)
    if (evidence.names.says(tensor.name) == NameSays::Parameter && evidence.reach.reaches(tensor.name)) {
      any = true;
      if (looksLikeBuffer(tensor))
        alike.push_back("'" + tensor.name + "'");
    }
  if (!any)
    return "";
  std::string text = "buffers: the file does not tell a buffer from a parameter of the same path";
  if (!alike.empty())
    text += fmt::format("; by {} values {} may be {}", alike.size() == 1 ? "its" : "their",
                        fmt::join(alike, ", "), alike.size() == 1 ? "one" : "some");
  return text;
}

/// What the file can show of gradients that the model stops.
std::string stopsOf(const model::Graph &graph) {
  bool calls = false;
  for (const Node &node : graph.nodes)
    calls |= !node.meta(key::fxNode).empty();
  return calls ? "no_grad(): the file marks detach(), and nothing that ran under no_grad(): there the "
                 "gradient would pass"
               : "detach() and no_grad(): the file marks neither: there the gradient would pass";
}

} // namespace

std::string removedBiases(const Evidence &evidence) {
  if (evidence.names.exporter() != "tf2onnx")
    return "";
  std::vector<std::string> counts;
  auto add = [&](size_t count, const char *one, const char *many, const char *lacks) {
    if (count > 0)
      counts.push_back(fmt::format("{} {} without a {}", count, count == 1 ? one : many, lacks));
  };
  add(evidence.roles.productsWithoutBias(), "product is", "products are", "bias");
  const Roles::LackingNorms norms = evidence.roles.lackingNorms();
  add(norms.scale, "norm is", "norms are", "scale");
  add(norms.shift, "norm is", "norms are", "shift");
  if (counts.empty())
    return "";
  return fmt::format(
      "biases of zeros (and scales of ones): TensorFlow's exporter removes them from a fresh model; {}. What "
      "is not in the file does not train: give them other values before the export",
      fmt::join(counts, ", "));
}

std::vector<std::string> unknownsOf(const Evidence &evidence) {
  const model::Graph &graph = evidence.model.graph;
  std::vector<std::string> unknowns;
  if (!has(graph, "Dropout")) {
    const std::string hint = inferenceHint(graph);
    unknowns.push_back(
        hint.empty()
            ? std::string("whether the model has Dropout: an export in inference mode leaves it out")
            : fmt::format("whether the model has Dropout: '{}' says that it was exported in inference "
                          "mode, which leaves it out",
                          hint));
  }
  if (const Node *node = foldedConvolution(graph);
      node && !evidence.signature.present() && !has(graph, "BatchNormalization"))
    unknowns.push_back(fmt::format(
        "BatchNormalization: the file has none and no record of the modules; an export in inference mode "
        "folds it into a Conv, such as '{}'",
        nodeName(*node)));
  if (std::string arguments = unknownArguments(evidence.model); !arguments.empty())
    unknowns.push_back(std::move(arguments));
  if (evidence.names.exporter() == "PyTorch" && !evidence.signature.present())
    if (std::string text = namedBuffers(evidence); !text.empty())
      unknowns.push_back(std::move(text));
  if (std::string text = removedBiases(evidence); !text.empty())
    unknowns.push_back(std::move(text));
  if (!evidence.signature.present() && evidence.model.trainingInfo.empty())
    for (const Node &node : graph.nodes)
      if (const model::Tensor *table = node.is("Gather") ? graph.findInitializer(node.input(0)) : nullptr;
          table && model::isFloat(table->dtype) && table->dims.size() == 2) {
        unknowns.push_back(fmt::format(
            "padding_idx: the file does not say which row of a table, such as '{}', gets no gradient; "
            "--padding-row sets it",
            table->name));
        break;
      }
  if (evidence.model.trainingInfo.empty() &&
      evidence.names.exporter() != "jax2onnx") // it marks stop_gradient
    unknowns.push_back(stopsOf(graph));
  return unknowns;
}

} // namespace kedge::lint
