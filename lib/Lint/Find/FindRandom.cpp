// Random numbers that no Dropout node draws: what happens to them outside of training.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Noise.h"
#include <fmt/format.h>

namespace kedge::lint {
using model::Node;

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
