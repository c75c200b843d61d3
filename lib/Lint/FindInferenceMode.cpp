#include "Findings.h"
#include "Modes.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace kedge::lint {
using model::Node;

namespace {
const char *const trainModeRemedy = "compile with --train-mode";

/// Statistics that the model computes from the batch are not frozen.
bool isStored(const FindingContext &context, const std::string &statistic) {
  const model::Graph &graph = context.graph();
  return graph.findInitializer(statistic) || std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node &node) {
    return std::find(node.outputs.begin(), node.outputs.end(), statistic) != node.outputs.end() && !node.is("Constant") &&
           !node.is("Identity");
  });
}

void checkBatchNorm(FindingContext &context, const Node &node) {
  if (isBatchNormTraining(node) || !isStored(context, node.input(3)))
    return;
  bool scale = node.hasInput(1) && context.trains(node.input(1)),
       bias = node.hasInput(2) && context.trains(node.input(2));
  const char *trained = scale && bias ? "scale and bias train" : scale ? "scale trains" : "bias trains";
  if (scale || bias)
    context.findings.push_back(
        {Severity::Error, "frozen-batchnorm", nodeName(node), node.input(scale ? 1 : 2), moduleOf(node),
         fmt::format("it normalizes with frozen running statistics while its {}", trained),
         std::string(trainModeRemedy) + ", or freeze the norm with --freeze", true, ""});
}

void checkDropout(FindingContext &context, const Node &node, const KnownValues &values) {
  std::optional<double> ratio = dropoutRatio(node, values);
  std::optional<bool> training = isDropoutTraining(node, values);
  if (!ratio || !training || *ratio <= 0 || *training)
    return;
  context.findings.push_back({Severity::Error, "dropout-off", nodeName(node), node.output(0), moduleOf(node),
                              fmt::format("ratio {:.3g}, but not in training mode: it does nothing", *ratio),
                              trainModeRemedy, true, ""});
}

/// The exporter decomposes attention without its dropout; the original call still names the ratio.
void checkAttentionDropout(FindingContext &context, size_t n) {
  const FxCall *call = context.evidence.uses.call(n);
  if (!call || call->target != "scaled_dot_product_attention" ||
      context.evidence.uses.siblings(n).back() != n)
    return;
  std::string text = call->arguments.size() > 4 ? call->arguments[4].text : "";
  if (auto found = call->keywords.find("dropout_p"); found != call->keywords.end())
    text = found->second.text;
  double ratio = 0;
  std::from_chars(text.data(), text.data() + text.size(), ratio);
  for (size_t sibling : context.evidence.uses.siblings(n))
    if (context.graph().nodes[sibling].is("Dropout"))
      return;
  if (ratio <= 0)
    return;
  const Node &node = context.graph().nodes[n];
  context.findings.push_back(
      {Severity::Warning, "dropout-off", nodeName(node), node.output(0), moduleOf(node),
       fmt::format("the exporter left out attention's dropout of ratio {:.3g}", ratio),
       "export with attn_implementation=\"eager\" where attention dropout matters", false, ""});
}
} // namespace

void findInferenceMode(FindingContext &context) {
  KnownValues values(context.graph());
  model::forEachNode(context.graph(), [&](const Node &node) {
    if (node.is("BatchNormalization"))
      checkBatchNorm(context, node);
    else if (node.is("Dropout"))
      checkDropout(context, node, values);
  });
  for (size_t n = 0; n < context.graph().nodes.size(); ++n)
    checkAttentionDropout(context, n);
}

} // namespace kedge::lint
