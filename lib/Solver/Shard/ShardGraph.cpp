#include "lib/Solver/Shard/ShardGraph.h"
#include <algorithm>
#include <map>

namespace kedge::solver {
namespace {

int64_t sum(int64_t one, int64_t other) {
  return one >= kForbiddenCost || other >= kForbiddenCost ? kForbiddenCost : one + other;
}

class GraphMaker {
public:
  explicit GraphMaker(const ShardProblem &problem) : problem(problem) {}

  ShardGraph make() {
    graph.limit = problem.limit;
    for (const ShardNode &node : problem.nodes) {
      ShardGraphNode made;
      made.costs = node.costs;
      made.stays.assign(node.costs.size(), true);
      if (node.begin < node.end)
        made.uses.push_back({node.begin, node.end, node.usages});
      graph.nodes.push_back(std::move(made));
    }
    for (const ShardEdge &edge : problem.edges)
      edge.from == edge.to ? addLoop(edge) : addEdge(edge);
    for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
      graph.nodes[static_cast<size_t>(graph.edges[edge].from)].edges.push_back(static_cast<int>(edge));
      graph.nodes[static_cast<size_t>(graph.edges[edge].to)].edges.push_back(static_cast<int>(edge));
    }
    return std::move(graph);
  }

private:
  void addLoop(const ShardEdge &edge) {
    std::vector<int64_t> &costs = graph.nodes[static_cast<size_t>(edge.from)].costs;
    for (size_t strategy = 0; strategy < costs.size(); ++strategy)
      costs[strategy] = sum(costs[strategy], edge.costs[strategy * costs.size() + strategy]);
  }

  void addEdge(const ShardEdge &edge) {
    const size_t rows = problem.nodes[static_cast<size_t>(edge.from)].costs.size();
    const size_t columns = problem.nodes[static_cast<size_t>(edge.to)].costs.size();
    const bool swapped = edge.from > edge.to;
    const std::pair<int, int> ends = std::minmax(edge.from, edge.to);
    const auto [at, isNew] = places.emplace(ends, graph.edges.size());
    if (isNew)
      graph.edges.push_back({ends.first, ends.second, std::vector<int64_t>(edge.costs.size(), 0)});
    std::vector<int64_t> &costs = graph.edges[at->second].costs;
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        int64_t &cost = costs[swapped ? column * rows + row : row * columns + column];
        cost = sum(cost, edge.costs[row * columns + column]);
      }
  }

  const ShardProblem &problem;
  ShardGraph graph;
  std::map<std::pair<int, int>, size_t> places;
};

} // namespace

ShardGraph makeShardGraph(const ShardProblem &problem) { return GraphMaker(problem).make(); }

void followSteps(const ShardGraph &graph, std::vector<int> &strategies) {
  for (size_t at = graph.steps.size(); at-- > 0;) {
    const ShardStep &step = graph.steps[at];
    int &strategy = strategies[static_cast<size_t>(step.node)];
    if (step.kind == ShardStep::Kind::Fix)
      strategy = step.strategy;
    if (step.leader >= 0)
      strategy = step.answers[static_cast<size_t>(strategies[static_cast<size_t>(step.leader)])];
  }
}

} // namespace kedge::solver
