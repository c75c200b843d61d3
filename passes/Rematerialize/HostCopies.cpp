#include "passes/Rematerialize/HostCopies.h"
#include "passes/Rematerialize/Policies.h"
#include <limits>

using namespace mlir;

namespace kedge::remat {
namespace {

class Offloader {
public:
  Offloader(const RecomputeGraph &graph, const std::vector<bool> &dropped) : graph(graph), dropped(dropped) {
    for (const RecomputeGraph::Node &node : graph.nodes)
      if (node.fetched >= 0 && !dropped[node.fetched])
        values.push_back(node.fetched);
  }

  std::vector<int> run(int64_t target) {
    std::vector<int> most = sequenceOf(values.size());
    int64_t least = solver::peakOf(graph.problem, most);
    if (least < 0)
      return rebuildLazily(graph, dropped);
    int64_t goal = std::max(target, least);
    // Each value that goes lowers the peak, or leaves it.
    size_t enough = values.size(), tooFew = 0;
    if (fits(0, goal))
      return sequenceOf(0);
    while (enough - tooFew > 1) {
      size_t middle = tooFew + (enough - tooFew) / 2;
      (fits(middle, goal) ? enough : tooFew) = middle;
    }
    return sequenceOf(enough);
  }

private:
  /// The first `count` values go.
  std::vector<int> sequenceOf(size_t count) {
    std::vector<bool> fetched(graph.values.size());
    for (size_t i = 0; i < count; ++i)
      fetched[values[i]] = true;
    return rebuildLazily(graph, dropped, fetched);
  }

  bool fits(size_t count, int64_t goal) {
    int64_t peak = solver::peakOf(graph.problem, sequenceOf(count));
    return peak >= 0 && peak <= goal;
  }

  const RecomputeGraph &graph;
  const std::vector<bool> &dropped;
  std::vector<int> values; ///< in the order in which they are made
};

} // namespace

std::vector<int64_t> offloadableValues(const RecomputeGraph &graph, int64_t leastBytes) {
  std::vector<bool> made(graph.values.size()), read(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const solver::RematNode &node = graph.problem.nodes[i];
    if (!graph.nodes[i].isLaunch())
      continue;
    for (int output : graph.forward[i] ? node.outputs : std::vector<int>())
      made[output] = true;
    for (int input : graph.forward[i] ? std::vector<int>() : node.inputs)
      read[input] = true;
  }
  std::vector<int64_t> values;
  for (size_t value = 0; value < made.size(); ++value) {
    const solver::RematValue &facts = graph.problem.values[value];
    if (made[value] && read[value] && !facts.keptToEnd && facts.bytes > 0 && facts.bytes >= leastBytes)
      values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

std::vector<int64_t> withinBytes(const RecomputeGraph &graph, std::vector<int64_t> values, int64_t bytes) {
  std::vector<double> worth(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].isLaunch())
      for (int output : graph.problem.nodes[i].outputs)
        worth[output] = graph.problem.nodes[i].cost /
                        static_cast<double>(std::max<int64_t>(1, graph.problem.values[output].bytes));
  llvm::stable_sort(values, [&](int64_t a, int64_t b) { return worth[a] > worth[b]; });
  std::vector<int64_t> taken;
  for (int64_t value : values)
    if (graph.problem.values[value].bytes <= bytes) {
      bytes -= graph.problem.values[value].bytes;
      taken.push_back(value);
    }
  llvm::sort(taken);
  return taken;
}

std::vector<int> offloadLazily(const RecomputeGraph &graph, const std::vector<bool> &dropped,
                               int64_t target) {
  return Offloader(graph, dropped).run(target);
}

} // namespace kedge::remat
