#include "Findings.h"
#include "Modes.h"
#include "OperatorFacts.h"
#include "kedge/Lint/BatchAxis.h"

namespace kedge::lint {

namespace {
/// The size of a value's first axis, by its declaration or by the constant that a draw is like.
std::optional<model::Dim> leadingDim(const model::Graph &graph, const model::Node &node) {
  if (const model::ValueInfo *info = graph.findValueInfo(node.output(0)); info && info->hasShape)
    return info->dims.empty() ? std::nullopt : std::optional(info->dims.front());
  for (const model::Node &maker : graph.nodes)
    if (maker.is("Constant") && node.hasInput(0) && maker.output(0) == node.input(0)) {
      const std::vector<int64_t> dims = model::constantValue(maker).dims;
      return dims.empty() ? std::nullopt : std::optional(model::Dim::of(dims.front()));
    }
  return std::nullopt;
}

/// Whether the first axis is as long as the batch: its rows are then keyed as the batch's.
bool leadsWithBatch(const model::Graph &graph, const model::Node &node) {
  const std::optional<model::Dim> dim = leadingDim(graph, node);
  for (const model::ValueInfo *input : graph.feeds())
    if (input->hasShape && !input->dims.empty())
      return dim && dim->kind != model::Dim::Kind::Unknown && *dim == input->dims.front();
  return false;
}
} // namespace

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
    if (axes->count(node.output(0)) || leadsWithBatch(context.graph(), node))
      continue;
    Severity severity = context.options.severalRanks ? Severity::Error : Severity::Warning;
    context.findings.push_back(
        {severity, "keyed-by-rank", nodeName(node), node.output(0), moduleOf(node),
         fmt::format("the axis of the batch in this {} is not known: its random numbers depend on the rank",
                     node.opType),
         "draw a number for each row of the batch, which is the first axis; or accept by --allow keyed-by-rank that each rank "
         "draws its own, as PyTorch's ranks do", false, ""});
  }
}

} // namespace kedge::lint
