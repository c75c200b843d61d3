#include "lib/Solver/Shard/ShardGraph.h"
#include <algorithm>
#include <deque>
#include <tuple>

namespace kedge::solver {
namespace {

/// A join makes the tables of the joining node's edges larger by this at most.
constexpr size_t kMostGrowth = 1000;

/// Nodes that may have become smaller, in turn.
class Reduction {
public:
  explicit Reduction(ShardGraph &graph) : graph(graph), waits(graph.nodes.size(), false) {}

  void run() {
    dropForbidden();
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      wake(static_cast<int>(node));
    do
      visitAll();
    while (joinAll(1) || joinAll(kMostGrowth));
  }

private:
  ShardGraphNode &at(int node) { return graph.nodes[static_cast<size_t>(node)]; }

  void wake(int node) {
    if (waits[static_cast<size_t>(node)] || at(node).gone)
      return;
    waits[static_cast<size_t>(node)] = true;
    queue.push_back(node);
  }
  void wakeNeighbours(int node) {
    for (int edge : at(node).edges)
      wake(graph.neighbour(node, edge));
  }

  void visitAll() {
    while (!queue.empty() && !graph.impossible) {
      const int node = queue.front();
      queue.pop_front();
      waits[static_cast<size_t>(node)] = false;
      if (!at(node).gone)
        visit(node);
    }
  }

  /// Nodes join neighbours that have at most so many times as many strategies.
  bool joinAll(size_t growth) {
    bool joined = false;
    for (size_t node = 0; node < graph.nodes.size() && !graph.impossible; ++node)
      for (size_t place = 0; place < graph.nodes[node].edges.size(); ++place)
        if (join(static_cast<int>(node), graph.nodes[node].edges[place], growth)) {
          joined = true;
          place = static_cast<size_t>(-1);
        }
    return joined;
  }

  void drop(int node, size_t strategy, int better = -1) {
    at(node).stays[strategy] = false;
    graph.steps.push_back({ShardStep::Kind::Drop, node, static_cast<int>(strategy), better, -1, {}});
    wakeNeighbours(node);
    graph.impossible |= left(node).empty();
  }

  std::vector<size_t> left(int node) {
    std::vector<size_t> strategies;
    for (size_t strategy = 0; strategy < at(node).stays.size(); ++strategy)
      if (at(node).stays[strategy])
        strategies.push_back(strategy);
    return strategies;
  }

  void dropForbidden() {
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      for (size_t strategy = 0; strategy < graph.nodes[node].costs.size(); ++strategy)
        if (isForbidden(graph.nodes[node], strategy))
          drop(static_cast<int>(node), strategy);
  }

  bool isForbidden(const ShardGraphNode &node, size_t strategy) const {
    return node.costs[strategy] >= kForbiddenCost ||
           std::any_of(node.uses.begin(), node.uses.end(),
                       [&](const ShardUse &use) { return use.amounts[strategy] > graph.limit; });
  }

  /// Uses of one interval are one.
  void gatherUses(int node) {
    std::vector<ShardUse> &uses = at(node).uses;
    std::sort(uses.begin(), uses.end(), [](const ShardUse &one, const ShardUse &two) {
      return std::tie(one.begin, one.end) < std::tie(two.begin, two.end);
    });
    std::vector<ShardUse> kept;
    for (ShardUse &use : uses) {
      if (kept.empty() || kept.back().begin != use.begin || kept.back().end != use.end) {
        kept.push_back(std::move(use));
        continue;
      }
      for (size_t strategy = 0; strategy < use.amounts.size(); ++strategy)
        kept.back().amounts[strategy] += use.amounts[strategy];
    }
    uses = std::move(kept);
  }

  void visit(int node) {
    gatherUses(node);
    for (size_t strategy : left(node))
      if (isForbidden(at(node), strategy) || isLonely(node, strategy))
        drop(node, strategy);
      else if (const int better = dominating(node, strategy); better >= 0)
        drop(node, strategy, better);
    const std::vector<size_t> strategies = left(node);
    if (strategies.size() == 1)
      fix(node, strategies[0]);
    else if (at(node).edges.size() == 1 && !graph.impossible)
      follow(node, strategies);
  }

  /// Every strategy of a neighbour is forbidden with it.
  bool isLonely(int node, size_t strategy) {
    for (int edge : at(node).edges) {
      const int neighbour = graph.neighbour(node, edge);
      bool goes = false;
      for (size_t other = 0; other < at(neighbour).stays.size() && !goes; ++other)
        goes = at(neighbour).stays[other] && graph.price(node, edge, strategy, other) < kForbiddenCost;
      if (!goes)
        return true;
    }
    return false;
  }

  /// A strategy that stays; -1 if there is none.
  int dominating(int node, size_t strategy) {
    for (size_t other = 0; other < at(node).stays.size(); ++other)
      if (other != strategy && at(node).stays[other] && dominates(node, other, strategy))
        return static_cast<int>(other);
    return -1;
  }

  static bool usesNoMore(const ShardGraphNode &node, size_t better, size_t worse) {
    if (better == worse)
      return true;
    return std::all_of(node.uses.begin(), node.uses.end(),
                       [&](const ShardUse &use) { return use.amounts[better] <= use.amounts[worse]; });
  }

  bool dominates(int node, size_t better, size_t worse) {
    if (!usesNoMore(at(node), better, worse))
      return false;
    int64_t more = at(node).costs[better] - at(node).costs[worse];
    for (int edge : at(node).edges) {
      const int64_t most = mostMore(node, edge, better, worse);
      if (most >= kForbiddenCost)
        return false;
      more += most;
    }
    return more <= 0;
  }

  /// What `better` costs more on an edge, at most; kForbiddenCost where only `better` is forbidden.
  int64_t mostMore(int node, int edge, size_t better, size_t worse) {
    const std::vector<char> &others = at(graph.neighbour(node, edge)).stays;
    int64_t most = -kForbiddenCost;
    for (size_t other = 0; other < others.size(); ++other) {
      if (!others[other] || graph.price(node, edge, worse, other) >= kForbiddenCost)
        continue;
      if (graph.price(node, edge, better, other) >= kForbiddenCost)
        return kForbiddenCost;
      most = std::max(most, graph.price(node, edge, better, other) - graph.price(node, edge, worse, other));
    }
    return most;
  }

  void fix(int node, size_t strategy) {
    for (const int edge : at(node).edges) {
      const int neighbour = graph.neighbour(node, edge);
      for (size_t other : left(neighbour))
        charge(neighbour, other, graph.price(node, edge, strategy, other));
    }
    graph.fixedCost += at(node).costs[strategy];
    for (const ShardUse &use : at(node).uses)
      graph.fixed.push_back({use.begin, use.end, {use.amounts[strategy]}});
    graph.steps.push_back({ShardStep::Kind::Fix, node, static_cast<int>(strategy), -1, -1, {}});
    leave(node);
  }

  void charge(int node, size_t strategy, int64_t cost) {
    int64_t &sum = at(node).costs[strategy];
    sum = cost >= kForbiddenCost || sum >= kForbiddenCost ? kForbiddenCost : sum + cost;
  }

  void leave(int node) {
    wakeNeighbours(node);
    for (const int edge : at(node).edges)
      std::erase(at(graph.neighbour(node, edge)).edges, edge);
    at(node).edges.clear();
    at(node).gone = true;
  }

  /// The strategy that costs and uses no more than any other next to this one of the leader; -1 if there is
  /// none.
  int answerTo(int node, int edge, const std::vector<size_t> &strategies, size_t leaders) {
    int best = -1;
    int64_t least = kForbiddenCost;
    const auto costOf = [&](size_t strategy) {
      const int64_t price = graph.price(node, edge, strategy, leaders);
      return price >= kForbiddenCost ? kForbiddenCost : price + at(node).costs[strategy];
    };
    for (size_t strategy : strategies) {
      const int64_t cost = costOf(strategy);
      if (cost < kForbiddenCost &&
          (cost < least || (cost == least && usesNoMore(at(node), strategy, static_cast<size_t>(best))))) {
        least = cost;
        best = static_cast<int>(strategy);
      }
    }
    for (size_t strategy : strategies)
      if (best >= 0 && costOf(strategy) < kForbiddenCost &&
          !usesNoMore(at(node), static_cast<size_t>(best), strategy))
        return -1;
    return best;
  }

  void follow(int node, const std::vector<size_t> &strategies) {
    const int edge = at(node).edges[0], leader = graph.neighbour(node, edge);
    ShardStep step{
        ShardStep::Kind::Follow, node, 0, -1, leader, std::vector<int>(at(leader).stays.size(), -1)};
    for (size_t leaders : left(leader))
      if ((step.answers[leaders] = answerTo(node, edge, strategies, leaders)) < 0)
        return; // also where the leader's strategy goes with none: its own visit drops it
    for (size_t leaders : left(leader)) {
      const auto answer = static_cast<size_t>(step.answers[leaders]);
      charge(leader, leaders, at(node).costs[answer]);
      charge(leader, leaders, graph.price(node, edge, answer, leaders));
    }
    for (const ShardUse &use : at(node).uses)
      addUse(leader, use, step.answers);
    graph.steps.push_back(std::move(step));
    leave(node);
  }

  void addUse(int node, const ShardUse &use, const std::vector<int> &answers) {
    ShardUse made{use.begin, use.end, std::vector<int64_t>(answers.size(), 0)};
    for (size_t strategy = 0; strategy < answers.size(); ++strategy)
      if (answers[strategy] >= 0)
        made.amounts[strategy] = use.amounts[static_cast<size_t>(answers[strategy])];
    at(node).uses.push_back(std::move(made));
  }

  /// The neighbour, if each strategy of the node goes with one of its alone.
  bool join(int leader, int edge, size_t growth) {
    const int node = graph.neighbour(leader, edge);
    if (left(leader).size() > growth * left(node).size())
      return false;
    ShardStep step{ShardStep::Kind::Join, node, 0, -1, leader, std::vector<int>(at(leader).stays.size(), -1)};
    const std::vector<size_t> strategies = left(node);
    for (size_t leaders : left(leader))
      for (size_t strategy : strategies) {
        if (graph.price(node, edge, strategy, leaders) >= kForbiddenCost)
          continue;
        if (step.answers[leaders] >= 0)
          return false;
        step.answers[leaders] = static_cast<int>(strategy);
      }
    for (size_t leaders : left(leader)) {
      if (step.answers[leaders] < 0)
        return false; // lonely: its next visit drops it
      const auto answer = static_cast<size_t>(step.answers[leaders]);
      charge(leader, leaders, at(node).costs[answer]);
      charge(leader, leaders, graph.price(node, edge, answer, leaders));
    }
    for (const ShardUse &use : at(node).uses)
      addUse(leader, use, step.answers);
    std::erase(at(node).edges, edge);
    std::erase(at(leader).edges, edge);
    for (const int moved : at(node).edges)
      moveEdge(moved, step);
    at(node).edges.clear();
    at(node).gone = true;
    graph.steps.push_back(std::move(step));
    wake(leader);
    wakeNeighbours(leader);
    return true;
  }

  void moveEdge(int moved, const ShardStep &step) {
    const int other = graph.neighbour(step.node, moved);
    const size_t rows = step.answers.size(), columns = at(other).stays.size();
    ShardEdge made{step.leader, other, std::vector<int64_t>(rows * columns, kForbiddenCost)};
    const auto own = std::find_if(at(other).edges.begin(), at(other).edges.end(),
                                  [&](int edge) { return graph.neighbour(other, edge) == step.leader; });
    const bool isDouble = own != at(other).edges.end();
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; step.answers[row] >= 0 && column < columns; ++column) {
        const int64_t price = graph.price(step.node, moved, static_cast<size_t>(step.answers[row]), column);
        const int64_t more = isDouble ? graph.price(step.leader, *own, row, column) : 0;
        made.costs[row * columns + column] =
            price >= kForbiddenCost || more >= kForbiddenCost ? kForbiddenCost : price + more;
      }
    if (isDouble) {
      graph.edges[static_cast<size_t>(*own)] = std::move(made);
      std::erase(at(other).edges, moved);
    } else {
      graph.edges[static_cast<size_t>(moved)] = std::move(made);
      at(step.leader).edges.push_back(moved);
    }
  }

  ShardGraph &graph;
  std::vector<char> waits;
  std::deque<int> queue;
};

} // namespace

void reduceShardGraph(ShardGraph &graph) { Reduction(graph).run(); }

} // namespace kedge::solver
