// Random numbers that no Dropout node draws: what happens to them outside of training.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Noise.h"
#include <fmt/format.h>
#include <set>

namespace kedge::lint {
using model::Node;

namespace {
/// Whether the record's name is that of a result of torch.bernoulli(): "bernoulli", "bernoulli_3".
bool isOfBernoulli(const std::string &name) {
  const std::string call = "bernoulli";
  return name.starts_with(call) && (name.size() == call.size() || name[call.size()] == '_') &&
         name.find_first_not_of("0123456789", call.size() + 1) == std::string::npos;
}

/// What nodes read by the record, and what stands in a constant that the optimizer computed.
std::vector<std::string> valuesBehind(const FindingContext &context, const Node &node, const FxCall *call) {
  std::vector<std::string> names = call ? call->refs() : std::vector<std::string>();
  for (const std::string &input : node.inputs)
    if (const model::Tensor *tensor = context.graph().findInitializer(input)) {
      const auto folded = parseStringList(metadataOf(*tensor, context.graph(), key::foldedFrom));
      names.insert(names.end(), folded.begin(), folded.end());
    }
  return names;
}
} // namespace

void findConstantRandom(FindingContext &context) {
  const std::vector<Node> &nodes = context.graph().nodes;
  std::set<std::string> known; // computed still, or the caller's
  for (const model::ValueInfo &input : context.graph().inputs)
    known.insert(input.name);
  for (size_t n = 0; n < nodes.size(); ++n)
    if (const FxCall *call = context.evidence.uses.call(n))
      known.insert(call->name);
  for (size_t n = 0; n < nodes.size(); ++n)
    for (const std::string &name : valuesBehind(context, nodes[n], context.evidence.uses.call(n)))
      if (isOfBernoulli(name) && known.insert(name).second)
        context.findings.push_back(
            {Severity::Error, "constant-random", nodeName(nodes[n]), name, moduleOf(nodes[n]),
             "the exporter's optimizer drew the numbers of torch.bernoulli() once, and every step would have "
             "these",
             "export again with torch.onnx.export(..., optimize=False)", false, ""});
}

void findRandom(FindingContext &context, std::vector<std::string> &drawsInEvaluation) {
  const Noise noise = findNoise(context.graph());
  for (const NoiseSwitch &one : noise.switches) {
    const Node &node = context.graph().nodes[one.draws.front()];
    context.findings.push_back({Severity::Note, "random-off", nodeName(node), one.result, moduleOf(node),
                                "random numbers change this value in training alone; evaluation, --predict "
                                "and exported files have the value before, as after "
                                "model.eval()",
                                "nothing to do; --export-training-mode keeps them in an exported file", false,
                                fmt::format("stands for '{}'", one.data)});
  }
  for (size_t draw : noise.others) {
    const Node &node = context.graph().nodes[draw];
    context.findings.push_back({Severity::Warning, "random-evaluation", nodeName(node), node.output(0),
                                moduleOf(node),
                                fmt::format("{} draws random numbers, and nothing shows whether model.eval() "
                                            "switches them off: evaluation and --predict are "
                                            "refused, and exported files draw them",
                                            node.opType),
                                "export a model of which they are a Dropout's, or accept by --allow "
                                "random-evaluation that evaluation draws them, too",
                                false, ""});
    if (!context.options.allow.count("random-evaluation"))
      drawsInEvaluation.push_back(nodeName(node));
  }
}

} // namespace kedge::lint
