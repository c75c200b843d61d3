#include "passes/Rematerialize/Policies.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Rematerialize/ResultSlice.h"
#include <cmath>

using namespace mlir;

namespace kedge::remat {
namespace {

/// For each value the blocks whose results follow from it directly (through no other result of the same
/// launch).
std::vector<SmallVector<int>> readingBlocks(const RecomputeGraph &graph, const std::vector<int> &blockOf) {
  std::vector<SmallVector<int>> readers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const RecomputeGraph::Node &node = graph.nodes[i];
    if (!graph.forward[i] || node.result >= 0)
      continue;
    for (OpResult result : node.op->getResults()) {
      int block = blockOf[graph.valueOf.lookup(result)];
      auto reads = [&](Value value) {
        if (auto found = graph.valueOf.find(sched::rootOf(value)); found != graph.valueOf.end())
          readers[found->second].push_back(block);
      };
      if (auto cluster = dyn_cast<sched::ClusterOp>(node.op)) {
        for (unsigned input : sliceOf(cluster, result.getResultNumber()).inputs)
          reads(cluster.getInputs()[input]);
      } else {
        llvm::for_each(node.op->getOperands(), reads);
      }
    }
  }
  return readers;
}

/// Everything inside a group of blocks but what other groups read.
std::vector<bool> insideGroups(const RecomputeGraph &graph, std::vector<int> groupOf) {
  std::vector<bool> dropped(graph.values.size());
  std::vector<SmallVector<int>> readers = readingBlocks(graph, groupOf);
  for (size_t value = 0; value < dropped.size(); ++value)
    dropped[value] = groupOf[value] >= 0 && !graph.problem.values[value].keptToEnd &&
                     llvm::all_of(readers[value], [&](int group) { return group == groupOf[value]; });
  return dropped;
}

std::vector<bool> attentionCores(const RecomputeGraph &graph) {
  std::vector<bool> dropped(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (auto library = dyn_cast<sched::LibraryOp>(graph.nodes[i].op);
        library && graph.forward[i] && library.calls<train::AttentionOp>())
      for (int output : graph.problem.nodes[i].outputs)
        dropped[output] = !graph.problem.values[output].keptToEnd;
  return dropped;
}

class Rebuilder {
public:
  Rebuilder(const RecomputeGraph &graph, std::vector<bool> values, std::vector<bool> copied)
      : graph(graph), dropped(std::move(values)), fetched(std::move(copied)), rebuilt(graph.values.size()),
        alone(graph.values.size(), -1), whole(graph.values.size(), -1), fetch(graph.values.size(), -1) {
    fetched.resize(graph.values.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (int output : graph.problem.nodes[i].outputs)
        (graph.nodes[i].fetched >= 0 ? fetch
         : graph.nodes[i].result < 0 ? whole
                                     : alone)[output] = static_cast<int>(i);
    keepStatistics();
  }

  std::vector<int> run() {
    int late = lastForward() + 1;
    for (int at = 0; at < static_cast<int>(graph.problem.order.size()); ++at) {
      int node = graph.problem.order[at];
      if (at >= late)
        for (int input : graph.problem.nodes[node].inputs)
          if (!rebuild(input))
            return {};
      sequence.push_back(node);
    }
    return delayUpdates();
  }

private:
  /// Place of the last launch on the way to the loss that makes or reads a dropped value: any later reader of
  /// a dropped value needs it computed again. (The loss itself may be summed up at the very end.)
  int lastForward() const {
    int last = -1;
    auto isDropped = [&](int value) { return dropped[value] || fetched[value]; };
    for (size_t i = 0; i < graph.problem.order.size(); ++i) {
      const solver::RematNode &node = graph.problem.nodes[graph.problem.order[i]];
      if (graph.forward[graph.problem.order[i]] &&
          (llvm::any_of(node.inputs, isDropped) || llvm::any_of(node.outputs, isDropped)))
        last = static_cast<int>(i);
    }
    return last;
  }

  /// Results of reductions (means of a norm, running statistics) are cheap to keep but need the whole launch
  /// again, while the other results can be computed alone or are kept anyway.
  void keepStatistics() {
    for (const solver::RematNode &node : graph.problem.nodes) {
      if (!node.required)
        continue;
      int64_t largest = 0;
      for (int output : node.outputs)
        largest = std::max(largest, graph.problem.values[output].bytes);
      auto isSmall = [&](int output) { return graph.problem.values[output].bytes * 16 < largest; };
      bool whole = llvm::any_of(
          node.outputs, [&](int output) { return dropped[output] && alone[output] < 0 && !isSmall(output); });
      bool stays =
          llvm::any_of(node.outputs, [&](int output) { return !dropped[output] && !isSmall(output); });
      for (int output : node.outputs)
        if ((!whole && isSmall(output)) || ((stays || !node.repeatable) && alone[output] < 0))
          dropped[output] = false;
    }
  }

  bool rebuild(int value) {
    if (rebuilt[value] || (!dropped[value] && !fetched[value]))
      return true;
    if (fetched[value]) {
      sequence.push_back(fetch[value]);
      return rebuilt[value] = true;
    }
    int node = alone[value] >= 0 && !allDropped(whole[value]) ? alone[value] : whole[value];
    if (node < 0 || !graph.problem.nodes[node].repeatable)
      return false;
    for (int input : graph.problem.nodes[node].inputs)
      if (!rebuild(input))
        return false;
    sequence.push_back(node);
    for (int output : graph.problem.nodes[node].outputs)
      rebuilt[output] = true;
    return true;
  }

  /// Whether the launch as it is makes nothing that is there already.
  bool allDropped(int node) const {
    return node >= 0 && llvm::all_of(graph.problem.nodes[node].outputs, [&](int output) {
             return graph.isHostCopy[output] || (dropped[output] && !rebuilt[output]);
           });
  }

  std::vector<int> delayUpdates() {
    std::vector<int> last(graph.nodes.size(), -1), waiting, result;
    for (size_t at = 0; at < sequence.size(); ++at)
      last[sequence[at]] = static_cast<int>(at);
    auto ready = [&](int node, int at) {
      return llvm::all_of(graph.problem.nodes[node].overwrites,
                          [&](int reader) { return last[reader] <= at; });
    };
    for (int at = 0; at < static_cast<int>(sequence.size()); ++at) {
      if (ready(sequence[at], at))
        result.push_back(sequence[at]);
      else
        waiting.push_back(sequence[at]);
      llvm::erase_if(waiting, [&](int node) {
        if (!ready(node, at))
          return false;
        result.push_back(node);
        return true;
      });
    }
    return result;
  }

  const RecomputeGraph &graph;
  std::vector<bool> dropped, fetched;
  std::vector<bool> rebuilt;
  std::vector<int> alone, whole; ///< node that makes a value by itself, or with the launch's other results
  std::vector<int> fetch;        ///< node that copies it back
  std::vector<int> sequence;
};

} // namespace

/// States that the forward pass fetches belong to no block: they are fetched again for what is computed
/// again.
static std::vector<bool> withFetchedStates(std::vector<bool> dropped, const RecomputeGraph &graph) {
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (graph.forward[i] && isa<sched::FetchOp>(node.op))
      for (int value : graph.problem.nodes[i].outputs)
        dropped[value] = true;
  return dropped;
}

std::vector<bool> droppedBy(const Policy &policy, const RecomputeGraph &graph, const Blocks &blocks) {
  int64_t count = static_cast<int64_t>(blocks.names.size());
  auto grouped = [&](llvm::function_ref<int64_t(int64_t)> groupOf) {
    std::vector<int> groups = blocks.ofValue;
    for (int &group : groups)
      group = group < 0 ? -1 : static_cast<int>(groupOf(group));
    return withFetchedStates(insideGroups(graph, std::move(groups)), graph);
  };
  auto segments = [&](int64_t n) {
    return grouped([=](int64_t block) { return block * std::min(n, count) / count; });
  };
  switch (policy.kind) {
  case Policy::Kind::Full:
    return grouped([](int64_t block) { return block; });
  case Policy::Kind::Segments:
    return segments(policy.count);
  case Policy::Kind::Sqrt:
    return segments(static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count)))));
  case Policy::Kind::Nth:
    return grouped([&](int64_t block) { return block % policy.count ? -1 : block; });
  case Policy::Kind::Attention:
    return attentionCores(graph);
  case Policy::Kind::None:
  case Policy::Kind::Auto:
    break;
  }
  return std::vector<bool>(graph.values.size());
}

std::vector<int> rebuildLazily(const RecomputeGraph &graph, const std::vector<bool> &dropped,
                               const std::vector<bool> &fetched) {
  return Rebuilder(graph, dropped, fetched).run();
}

} // namespace kedge::remat
