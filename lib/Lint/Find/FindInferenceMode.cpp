#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/LostDropout.h"
#include "lib/Lint/Modes.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace kedge::lint {
using model::Node;

namespace {
const char *const trainModeRemedy = "compile with --train-mode";
const char *const asItIs = "--train-mode=off trains the file as it is";

/// Statistics that the model computes from the batch are not frozen.
bool isStored(const FindingContext &context, const std::string &statistic) {
  const model::Graph &graph = context.graph();
  return graph.findInitializer(statistic) ||
         std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node &node) {
           return std::find(node.outputs.begin(), node.outputs.end(), statistic) != node.outputs.end() &&
                  !node.is("Constant") && !node.is("Identity");
         });
}

/// The tensor behind what only moves, repeats or retypes it.
std::string sourceOf(const FindingContext &context, std::string name) {
  static const std::set<std::string> moves = {"Identity", "Cast",      "CastLike", "Reshape",
                                              "Squeeze",  "Unsqueeze", "Expand",   "Flatten"};
  const std::vector<Node> &nodes = context.graph().nodes;
  for (auto node = nodes.rbegin(); node != nodes.rend();
       ++node) // topological: a producer stands before its readers
    if (node->domain.empty() && moves.count(node->opType) && node->output(0) == name)
      name = node->input(0);
  return name;
}

class NormCheck {
public:
  explicit NormCheck(FindingContext &context) : context(context), modes(context.graph()) {}

  void check(const Node &node) {
    if (isBatchNormTraining(node) || !isStored(context, node.input(3)))
      return;
    const std::string scale = sourceOf(context, node.input(1)), bias = sourceOf(context, node.input(2));
    const bool scaleTrains = context.trains(scale), biasTrains = context.trains(bias);
    if (!scaleTrains && !biasTrains && !(isPlain(scale) && isPlain(bias) && isPassed(node)))
      return;
    const char *trained = scaleTrains && biasTrains ? "its scale and bias train"
                          : scaleTrains             ? "its scale trains"
                          : biasTrains              ? "its bias trains"
                                                    : "parameters before it train";
    const std::string &tensor = scaleTrains ? scale : biasTrains ? bias : node.input(3);
    const bool unnamed = !context.options.trainModules.empty();
    if (context.options.mode == Mode::AsFile) {
      context.findings.push_back({Severity::Note, "frozen-batchnorm", nodeName(node), tensor, moduleOf(node),
                                  asItIs, "none needed; --train-mode trains it in training mode", false, ""});
      return;
    }
    const bool other = context.options.trainedAtExport && wasTraining(node) != true;
    if (unnamed || modes.staysFrozen(node) || other) {
      context.findings.push_back(
          {Severity::Note, "frozen-batchnorm", nodeName(node), tensor, moduleOf(node),
           unnamed ? "no expression of --train-mode names it, and it keeps its running statistics"
                   : "it was in eval() when others were in train(), and keeps its running statistics",
           "nothing to do; --train-mode=REGEX names the modules that are in training mode", false, ""});
      return;
    }
    context.findings.push_back(
        {Severity::Error, "frozen-batchnorm", nodeName(node), tensor, moduleOf(node),
         fmt::format("it normalizes with frozen running statistics while {}", trained),
         std::string(trainModeRemedy) + (scaleTrains || biasTrains
                                             ? ", or freeze the norm with --freeze"
                                             : ", or keep its statistics with --allow frozen-batchnorm"),
         true, ""});
  }

private:
  /// No parameter, trained or frozen, and no buffer: what affine=False leaves.
  bool isPlain(const std::string &name) const {
    auto found = context.verdicts.find(name);
    return found == context.verdicts.end() || found->second == Verdict::Constant;
  }

  /// Whether a gradient goes through the node, to what trains before it.
  bool isPassed(const Node &node) {
    auto statistic = context.verdicts.find(node.input(3));
    if (statistic == context.verdicts.end() || statistic->second != Verdict::Buffer)
      return false;
    if (!passed) {
      std::set<std::string> parameters;
      for (const auto &[name, verdict] : context.verdicts)
        if (verdict == Verdict::Parameter)
          parameters.insert(name);
      const std::vector<const Node *> between = context.evidence.reach.between(parameters);
      passed.emplace(between.begin(), between.end());
    }
    return passed->count(&node) != 0;
  }

  FindingContext &context;
  NormModes modes;
  std::optional<std::set<const Node *>> passed;
};

void checkDropout(FindingContext &context, const Node &node, const KnownValues &values,
                  const LostDropout &attention) {
  std::optional<double> ratio = dropoutRatio(node, values);
  std::optional<bool> training = isDropoutTraining(node, values);
  if (!ratio || !training || *ratio <= 0 || *training)
    return;
  if (context.options.mode == Mode::AsFile ||
      (context.options.trainedAtExport && wasDropoutTraining(node) != true && !attention.isOn(node))) {
    context.findings.push_back({Severity::Note, "dropout-off", nodeName(node), node.output(0), moduleOf(node),
                                context.options.mode == Mode::AsFile
                                    ? asItIs
                                    : "it was in eval() when others were in train(), and does nothing",
                                "none needed; --train-mode=REGEX names the modules that are in training mode",
                                false, ""});
    return;
  }
  context.findings.push_back({Severity::Error, "dropout-off", nodeName(node), node.output(0), moduleOf(node),
                              fmt::format("ratio {:.3g}, but not in training mode: it does nothing", *ratio),
                              trainModeRemedy, true, ""});
}

void tellMissing(FindingContext &context, const Node &product, float ratio) {
  const bool asFile = context.options.mode == Mode::AsFile;
  context.findings.push_back(
      {asFile ? Severity::Note : Severity::Error, "dropout-off", nodeName(product), product.output(0),
       moduleOf(product),
       asFile ? asItIs : fmt::format("the exporter left out attention's dropout of ratio {:.3g}", ratio),
       asFile ? "none needed; --train-mode=REGEX names the modules that are in training mode"
              : trainModeRemedy,
       !asFile, ""});
}
} // namespace

void findInferenceMode(FindingContext &context) {
  KnownValues values(context.graph());
  const LostDropout attention(context.graph());
  NormCheck norms(context);
  model::forEachNode(context.graph(), [&](const Node &node) {
    if (node.is("BatchNormalization"))
      norms.check(node);
    else if (node.is("Dropout"))
      checkDropout(context, node, values, attention);
  });
  for (const MissingDropout &missing : attention.missing())
    tellMissing(context, context.graph().nodes[missing.product], missing.ratio);
}

} // namespace kedge::lint
