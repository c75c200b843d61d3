// Scatters without a reduction, whose result the standard leaves open where places repeat.
#include "lib/Lint/Find/Findings.h"

namespace kedge::lint {
using model::Node;

/// Values that follow from inputs, by more than their shapes.
static std::set<std::string> ofData(const model::Graph &graph) {
  std::set<std::string> found;
  for (const model::ValueInfo *input : graph.feeds())
    found.insert(input->name);
  for (const Node &node : graph.nodes)
    if (!node.is("Shape") && !node.is("Size"))
      for (const std::string &name : readsOf(node))
        if (found.count(name))
          found.insert(node.outputs.begin(), node.outputs.end());
  return found;
}

void findScatterOrder(FindingContext &context) {
  const std::set<std::string> data = ofData(context.graph());
  for (const Node &node : context.graph().nodes) {
    const bool scatters = node.is("ScatterND") || node.is("ScatterElements") || node.is("Scatter");
    if (!scatters || node.attrString("reduction", "none") != "none" || !data.count(node.input(1)) ||
        !context.evidence.reach.reaches(node.output(0)))
      continue;
    context.findings.push_back(
        {Severity::Note, "scatter-order", nodeName(node), node.input(1), moduleOf(node),
         "where its indices name a place twice, the standard leaves open which update counts "
         "(here the last); indices that are constant and repeat are an error of compile",
         "nothing to do where places do not repeat; else scatter with a reduction", false, ""});
  }
}

} // namespace kedge::lint
