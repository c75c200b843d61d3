#include "lib/Lint/BatchAxis.h"
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Modes.h"
#include "lib/Lint/OperatorFacts.h"

namespace kedge::lint {

namespace {
/// Whether a value's first axis is as long as the batch: its rows are then keyed as the batch's. Exporters
/// write the shape of a draw as a value to be like, which no input makes.
class BatchLead {
public:
  BatchLead(const model::Graph &graph, const std::map<std::string, int64_t> &axes)
      : graph(graph), axes(axes) {
    for (const model::ValueInfo *input : graph.feeds())
      if (input->hasShape && !input->dims.empty() && !batch)
        batch = input->dims.front();
    for (const model::Node &node : graph.nodes)
      for (const std::string &output : node.outputs)
        producers[output] = &node;
  }

  bool leads(const std::string &name) const {
    if (auto axis = axes.find(name); axis != axes.end())
      return axis->second == 0;
    if (const model::ValueInfo *info = graph.findValueInfo(name); info && info->hasShape)
      return !info->dims.empty() && isBatch(info->dims.front());
    const model::Node *producer = producerOf(name);
    if (!producer)
      return false;
    if (producer->is("Constant")) {
      const std::vector<int64_t> dims = model::constantValue(*producer).dims;
      return !dims.empty() && isBatch(model::Dim::of(dims.front()));
    }
    if (producer->is("Expand"))
      return startsWithBatch(producer->input(1));
    return isLikeInput(*producer) && leads(producer->input(0));
  }

private:
  static bool isLikeInput(const model::Node &node) {
    return node.is("Identity") || node.is("Cast") || node.is("CastLike") || node.is("RandomUniformLike") ||
           node.is("RandomNormalLike");
  }

  bool isBatch(const model::Dim &dim) const {
    return batch && dim.kind != model::Dim::Kind::Unknown && dim == *batch;
  }

  const model::Node *producerOf(const std::string &name) const {
    auto producer = producers.find(name);
    return producer == producers.end() ? nullptr : producer->second;
  }

  /// `shape` is a list of sizes.
  bool startsWithBatch(const std::string &shape) const {
    if (const model::Tensor *sizes = graph.findInitializer(shape))
      return isFirstSize(*sizes);
    const model::Node *producer = producerOf(shape);
    if (!producer)
      return false;
    if (producer->is("Shape"))
      return producer->attrInt("start", 0) == 0 && leads(producer->input(0));
    if (producer->is("Concat") || producer->is("Identity") || producer->is("Cast"))
      return startsWithBatch(producer->input(0));
    return producer->is("Constant") && isFirstSize(model::constantValue(*producer));
  }

  bool isFirstSize(const model::Tensor &sizes) const {
    return sizes.dtype == model::ElementType::Int64 && sizes.numElements() > 0 &&
           isBatch(model::Dim::of(sizes.ints().front()));
  }

  const model::Graph &graph;
  const std::map<std::string, int64_t> &axes;
  std::map<std::string, const model::Node *> producers;
  std::optional<model::Dim> batch;
};
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
    if (axes->count(node.output(0)) || BatchLead(context.graph(), *axes).leads(node.output(0)))
      continue;
    Severity severity = context.options.severalRanks ? Severity::Error : Severity::Warning;
    context.findings.push_back(
        {severity, "keyed-by-rank", nodeName(node), node.output(0), moduleOf(node),
         fmt::format("the axis of the batch in this {} is not known: its random numbers depend on the rank",
                     node.opType),
         "draw a number for each row of the batch, which is the first axis; or accept by --allow "
         "keyed-by-rank that each rank "
         "draws its own, as PyTorch's ranks do",
         false, ""});
  }
}

} // namespace kedge::lint
