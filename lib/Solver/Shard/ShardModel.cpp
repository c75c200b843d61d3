#include "lib/Solver/Shard/ShardTimes.h"
#include <algorithm>
#include <tuple>

namespace kedge::solver {
namespace {

class ModelMaker {
public:
  explicit ModelMaker(const ShardGraph &graph) : graph(graph), placeOf(graph.nodes.size(), -1) {}

  ShardModel make() {
    makeStrategies();
    makeEdges();
    makeTimes();
    dropImpliedTimes(model);
    return std::move(model);
  }

private:
  void makeStrategies() {
    model.fixedCost = static_cast<double>(graph.fixedCost);
    model.first.push_back(0);
    for (size_t node = 0; node < graph.nodes.size(); ++node) {
      const ShardGraphNode &each = graph.nodes[node];
      if (each.gone)
        continue;
      placeOf[node] = static_cast<int>(model.origin.size());
      model.origin.push_back(static_cast<int>(node));
      double most = 0;
      for (size_t strategy = 0; strategy < each.stays.size(); ++strategy)
        if (each.stays[strategy]) {
          model.original.push_back(static_cast<int>(strategy));
          model.cost.push_back(static_cast<double>(each.costs[strategy]));
          most = std::max(most, model.cost.back());
        }
      model.first.push_back(static_cast<int>(model.original.size()));
      model.forbidden += most;
    }
  }

  int originalOf(int node, int strategy) const {
    return model.original[static_cast<size_t>(model.first[static_cast<size_t>(node)] + strategy)];
  }

  /// Those that stay, for each strategy of `from`.
  std::vector<double> pricesOf(const ShardEdge &edge) const {
    const size_t columns = graph.nodes[static_cast<size_t>(edge.to)].costs.size();
    const int from = placeOf[static_cast<size_t>(edge.from)], to = placeOf[static_cast<size_t>(edge.to)];
    std::vector<double> prices;
    for (int row = 0; row < model.strategies(from); ++row)
      for (int column = 0; column < model.strategies(to); ++column)
        prices.push_back(static_cast<double>(edge.costs[static_cast<size_t>(originalOf(from, row)) * columns +
                                                        static_cast<size_t>(originalOf(to, column))]));
    return prices;
  }

  void makeEdges() {
    std::vector<std::vector<double>> all;
    for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
      if (placeOf[static_cast<size_t>(graph.edges[edge].from)] < 0 ||
          placeOf[static_cast<size_t>(graph.edges[edge].to)] < 0)
        continue;
      model.originalEdge.push_back(static_cast<int>(edge));
      all.push_back(pricesOf(graph.edges[edge]));
      double most = 0;
      for (double price : all.back())
        most = price < static_cast<double>(kForbiddenCost) ? std::max(most, price) : most;
      model.forbidden += most;
    }
    model.forbidden = 2 * model.forbidden + 1;
    std::vector<std::vector<ShardLink>> linksOf(model.origin.size());
    for (size_t edge = 0; edge < all.size(); ++edge)
      addEdge(graph.edges[static_cast<size_t>(model.originalEdge[edge])], all[edge], linksOf);
    model.linkFirst.push_back(0);
    for (std::vector<ShardLink> &links : linksOf) {
      std::sort(links.begin(), links.end(),
                [](const ShardLink &one, const ShardLink &two) { return one.other < two.other; });
      model.links.insert(model.links.end(), links.begin(), links.end());
      model.linkFirst.push_back(static_cast<int>(model.links.size()));
    }
  }

  void addEdge(const ShardEdge &edge, std::vector<double> &prices,
               std::vector<std::vector<ShardLink>> &linksOf) {
    const int from = placeOf[static_cast<size_t>(edge.from)], to = placeOf[static_cast<size_t>(edge.to)];
    const size_t rows = static_cast<size_t>(model.strategies(from));
    const size_t columns = static_cast<size_t>(model.strategies(to));
    for (double &price : prices)
      price = std::min(price, model.forbidden);
    const size_t byFrom = model.prices.size(), byTo = byFrom + prices.size();
    model.prices.insert(model.prices.end(), prices.begin(), prices.end());
    for (size_t column = 0; column < columns; ++column)
      for (size_t row = 0; row < rows; ++row)
        model.prices.push_back(prices[row * columns + column]);
    const size_t atFrom = model.messages, atTo = atFrom + rows;
    model.messages += rows + columns;
    linksOf[static_cast<size_t>(from)].push_back({model.edges, to, true, byFrom, byTo, atFrom, atTo});
    linksOf[static_cast<size_t>(to)].push_back({model.edges, from, false, byTo, byFrom, atTo, atFrom});
    ++model.edges;
  }

  /// A use with the amounts of the strategies that stay, less the least of them.
  struct Use {
    int node; ///< -1: all of it is fixed
    int64_t begin, end, least, most;
    std::vector<int64_t> amounts;
    int from = 0, to = 0; ///< times of the model
  };

  std::vector<Use> uses() const {
    std::vector<Use> all;
    for (const ShardUse &use : graph.fixed)
      all.push_back({-1, use.begin, use.end, use.amounts[0], 0, {}});
    for (size_t node = 0; node < graph.nodes.size(); ++node)
      if (placeOf[node] >= 0)
        for (const ShardUse &use : graph.nodes[node].uses)
          all.push_back(useOf(placeOf[node], use));
    return all;
  }

  Use useOf(int node, const ShardUse &use) const {
    Use made{node, use.begin, use.end, 0, 0, {}};
    for (int strategy = 0; strategy < model.strategies(node); ++strategy)
      made.amounts.push_back(use.amounts[static_cast<size_t>(originalOf(node, strategy))]);
    made.least = *std::min_element(made.amounts.begin(), made.amounts.end());
    for (int64_t &amount : made.amounts)
      amount -= made.least;
    made.most = *std::max_element(made.amounts.begin(), made.amounts.end());
    return made;
  }

  /// All changes of what is in use, by time: at each, intervals end before others begin.
  struct Change {
    int64_t time;
    bool begins;
    size_t use;
  };

  static std::vector<Change> changesOf(const std::vector<Use> &uses) {
    std::vector<Change> result;
    for (size_t use = 0; use < uses.size(); ++use) {
      result.push_back({uses[use].begin, true, use});
      result.push_back({uses[use].end, false, use});
    }
    std::sort(result.begin(), result.end(), [](const Change &one, const Change &two) {
      return std::tie(one.time, one.begins, one.use) < std::tie(two.time, two.begins, two.use);
    });
    return result;
  }

  /// What is in use between a begin and the next end includes what is at all times around: a time for each
  /// such place, if the largest usages exceed the limit there.
  void makeTimes() {
    std::vector<Use> all = uses();
    int64_t least = 0, more = 0, last = 0;
    bool grown = false;
    for (const Change &change : changesOf(all)) {
      Use &use = all[change.use];
      if (!change.begins && grown)
        closeTime(last, least, more);
      grown = change.begins;
      last = change.time;
      least += change.begins ? use.least : -use.least;
      more += change.begins ? use.most : -use.most;
      (change.begins ? use.from : use.to) = model.times;
    }
    std::stable_sort(all.begin(), all.end(), [](const Use &a, const Use &b) { return a.node < b.node; });
    for (const Use &use : all)
      addSpan(use);
    model.spanFirst.resize(model.origin.size() + 1, static_cast<int>(model.spans.size()));
  }

  void closeTime(int64_t moment, int64_t least, int64_t more) {
    model.impossible |= least > graph.limit;
    if (least + more <= graph.limit)
      return;
    model.room.push_back(graph.limit - least);
    model.moment.push_back(moment);
    ++model.times;
  }

  void addSpan(const Use &use) {
    if (use.node < 0)
      return;
    model.spanFirst.resize(static_cast<size_t>(use.node) + 1, static_cast<int>(model.spans.size()));
    if (use.from == use.to || use.most == 0)
      return;
    model.spans.push_back({use.from, use.to, model.amounts.size()});
    model.amounts.insert(model.amounts.end(), use.amounts.begin(), use.amounts.end());
  }

  const ShardGraph &graph;
  std::vector<int> placeOf; ///< of a node of the graph; -1 if it is gone
  ShardModel model;
};

} // namespace

ShardModel makeShardModel(const ShardGraph &graph) { return ModelMaker(graph).make(); }

std::vector<int> originalStrategies(const ShardGraph &graph, const ShardModel &model,
                                    const std::vector<int> &labels) {
  std::vector<int> strategies(graph.nodes.size(), 0);
  for (size_t node = 0; node < labels.size(); ++node)
    strategies[static_cast<size_t>(model.origin[node])] = model.original[static_cast<size_t>(labels[node])];
  followSteps(graph, strategies);
  return strategies;
}

} // namespace kedge::solver
