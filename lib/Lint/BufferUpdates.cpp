#include "lib/Lint/BufferUpdates.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Reach.h"
#include "lib/Lint/Repair/Repair.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Node;

namespace {
class Search {
public:
  explicit Search(const Graph &graph) : graph(graph), signature(Signature::of(graph)) {}

  BufferUpdates run() {
    if (signature.mutations().empty())
      return {};
    live = liveValues(graph);
    for (const SignatureEntry &mutation : signature.mutations())
      buffers.insert(initializerOf(mutation.target));
    buffers.erase("");
    for (const SignatureEntry &mutation : signature.mutations())
      judge(mutation);
    // A value that no buffer's old value went into, of a buffer that nothing reads, changes nothing.
    std::erase_if(found.kept,
                  [](const BufferUpdate &update) { return update.buffer.empty() && !update.followsBuffers; });
    return std::move(found);
  }

private:
  void judge(const SignatureEntry &mutation) {
    const std::string buffer = initializerOf(mutation.target);
    const bool isRead = !buffer.empty() && live.count(buffer) && !isStatistic(buffer);
    if (!isRead && !buffer.empty())
      return;
    BufferUpdate update{buffer, mutation.target, 0, "", false};
    if (!producerOf(mutation.placeholder, update)) {
      if (isRead)
        found.lost.push_back(
            {buffer, mutation.target,
             fmt::format("the file does not compute its next value, '{}'", mutation.placeholder)});
      return;
    }
    if (const std::string why = isRead ? whyNot(buffer, update.value) : ""; !why.empty()) {
      found.lost.push_back({buffer, mutation.target, why});
      return;
    }
    update.followsBuffers = followsBuffers(update.value);
    found.kept.push_back(std::move(update));
  }

  std::string initializerOf(const std::string &target) const {
    if (graph.findInitializer(target))
      return target;
    const SignatureEntry *entry = signature.byTarget(target);
    return entry && graph.findInitializer(entry->placeholder) ? entry->placeholder : "";
  }

  /// Read by norms alone, as their running statistics; a value of another type than its norm takes is cast
  /// before.
  bool isStatistic(const std::string &value) const {
    bool any = false;
    for (const Node &node : graph.nodes)
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] != value || !live.count(node.output(0)))
          continue;
        const bool passes = node.is("Cast") || node.is("CastLike") || node.is("Identity");
        if (!isRunningStatistic(node, k) && !(passes && k == 0 && isStatistic(node.output(0))))
          return false;
        any = true;
      }
    return any;
  }

  /// By the name of the value, or by the call that the exporter notes at the node.
  bool producerOf(const std::string &call, BufferUpdate &update) const {
    const std::string start = "%" + call + " :";
    bool any = false;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node &node = graph.nodes[n];
      const bool named = !call.empty() && node.output(0) == call;
      if (!named && !node.meta(key::fxNode).starts_with(start))
        continue;
      update.node = n; // the last node of a call makes its result
      update.value = node.output(0);
      any = true;
      if (named)
        break;
    }
    return any;
  }

  std::string whyNot(const std::string &buffer, const std::string &value) const {
    const model::Tensor *before = graph.findInitializer(buffer);
    const model::ValueInfo *after = graph.findValueInfo(value);
    if (!after)
      after = graph.findOutput(value);
    if (!after || after->dtype == model::ElementType::Undefined)
      return "";
    if (after->dtype != before->dtype)
      return fmt::format("its next value, '{}', is {} and the buffer {}", value,
                         model::dtypeName(after->dtype), model::dtypeName(before->dtype));
    return "";
  }

  bool followsBuffers(const std::string &value) const {
    std::set<std::string> reads{value};
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
      if (std::any_of(node->outputs.begin(), node->outputs.end(),
                      [&](const std::string &name) { return reads.count(name); }))
        for (const std::string &name : readsOf(*node))
          reads.insert(name);
    return std::any_of(buffers.begin(), buffers.end(),
                       [&](const std::string &buffer) { return reads.count(buffer); });
  }

  const Graph &graph;
  Signature signature;
  std::set<std::string> live, buffers;
  BufferUpdates found;
};
} // namespace

BufferUpdates findBufferUpdates(const Graph &graph) { return Search(graph).run(); }

std::vector<NoiseSwitch> switchesOf(const BufferUpdates &updates) {
  std::vector<NoiseSwitch> switches;
  for (const BufferUpdate &update : updates.kept)
    if (!update.buffer.empty() && update.followsBuffers)
      switches.push_back({{update.node}, update.node, update.value, update.buffer});
  return switches;
}

void updateBuffers(Graph &graph, const BufferUpdates &updates,
                   const std::function<bool(const std::string &)> &isBuffer) {
  GraphEditor editor(graph);
  for (const BufferUpdate &update : updates.kept) {
    const bool isState = !update.buffer.empty() && isBuffer(update.buffer);
    if (!isState && !update.buffer.empty())
      continue;
    Node &producer = graph.nodes[update.node];
    const std::string next = editor.fresh(update.value + "/next");
    std::replace(producer.outputs.begin(), producer.outputs.end(), update.value, next);
    Node node;
    node.opType = "ByMode";
    node.domain = std::string(ownDomain);
    node.name = next;
    node.inputs = {next, isState && update.followsBuffers ? update.buffer : next};
    node.outputs = {update.value};
    node.opset = 1;
    node.metadata = producer.metadata;
    if (isState)
      node.set(model::Attribute::makeString("updates", update.buffer));
    if (update.followsBuffers)
      node.set(model::Attribute::makeInt("stops", 1));
    editor.insertAfter(update.node, std::move(node));
  }
  editor.finish();
}

} // namespace kedge::lint
