#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Modes.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/BatchAxis.h"

namespace kedge::lint {

void findRankKeyed(FindingContext &context) {
  KnownValues values(context.graph());
  std::optional<std::map<std::string, int64_t>> axes;
  for (const model::Node &node : context.graph().nodes) {
    if (!isRandom(node))
      continue;
    if (node.is("Dropout") && (dropoutRatio(node, values) == 0.0 || isDropoutTraining(node, values) == false))
      continue;
    if (!axes)
      axes = batchAxes(context.graph());
    if (axes->count(node.output(0)))
      continue;
    Severity severity = context.options.severalRanks ? Severity::Error : Severity::Warning;
    context.findings.push_back(
        {severity, "keyed-by-rank", nodeName(node), node.output(0), moduleOf(node),
         fmt::format("the axis of the batch in this {} is not known: its random numbers depend on the rank",
                     node.opType),
         "keep the batch the first axis where random numbers are drawn", false, ""});
  }
}

} // namespace kedge::lint
