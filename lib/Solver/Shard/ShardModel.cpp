#include "lib/Solver/Shard/ShardModel.h"
#include "lib/Solver/Shard/ShardReduction.h"
#include <algorithm>
#include <tuple>

namespace kedge::solver {
namespace {

class ModelMaker {
public:
  ModelMaker(const ShardProblem &problem, const std::vector<std::vector<char>> &stays)
      : problem(problem), stays(stays) {}

  ShardModel make() {
    makeStrategies();
    if (!model.impossible) {
      makeEdges();
      makeTimes();
    }
    return std::move(model);
  }

private:
  void makeStrategies() {
    model.limit = problem.limit;
    model.first.push_back(0);
    for (size_t node = 0; node < problem.nodes.size(); ++node) {
      for (size_t strategy = 0; strategy < stays[node].size(); ++strategy)
        if (stays[node][strategy]) {
          model.original.push_back(static_cast<int>(strategy));
          model.cost.push_back(static_cast<double>(problem.nodes[node].costs[strategy]));
          model.usage.push_back(problem.nodes[node].usages[strategy]);
        }
      model.first.push_back(static_cast<int>(model.original.size()));
      model.impossible |= model.strategies(static_cast<int>(node)) == 0;
      model.forbidden +=
          model.impossible ? 0 : *std::max_element(model.cost.begin() + model.first[node], model.cost.end());
    }
  }

  /// Those that stay, for each strategy of `from`.
  std::vector<double> pricesOf(const ShardEdge &edge) const {
    const size_t columns = problem.nodes[static_cast<size_t>(edge.to)].costs.size();
    std::vector<double> prices;
    for (int row = model.first[static_cast<size_t>(edge.from)];
         row < model.first[static_cast<size_t>(edge.from) + 1]; ++row)
      for (int column = model.first[static_cast<size_t>(edge.to)];
           column < model.first[static_cast<size_t>(edge.to) + 1]; ++column)
        prices.push_back(static_cast<double>(
            edge.costs[static_cast<size_t>(model.original[static_cast<size_t>(row)]) * columns +
                       static_cast<size_t>(model.original[static_cast<size_t>(column)])]));
    return prices;
  }

  void makeEdges() {
    std::vector<std::vector<double>> all;
    for (const ShardEdge &edge : problem.edges) {
      all.push_back(pricesOf(edge));
      double most = 0;
      for (double price : all.back())
        most = price < static_cast<double>(kForbiddenCost) ? std::max(most, price) : most;
      model.forbidden += most;
    }
    model.forbidden = 2 * model.forbidden + 1;
    std::vector<std::vector<ShardLink>> linksOf(problem.nodes.size());
    for (size_t edge = 0; edge < all.size(); ++edge)
      addEdge(problem.edges[edge], all[edge], linksOf);
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
    const size_t rows = static_cast<size_t>(model.strategies(edge.from));
    const size_t columns = static_cast<size_t>(model.strategies(edge.to));
    for (double &price : prices)
      price = std::min(price, model.forbidden);
    const size_t byFrom = model.prices.size(), byTo = byFrom + prices.size();
    model.prices.insert(model.prices.end(), prices.begin(), prices.end());
    for (size_t column = 0; column < columns; ++column)
      for (size_t row = 0; row < rows; ++row)
        model.prices.push_back(prices[row * columns + column]);
    const size_t atFrom = model.messages, atTo = atFrom + rows;
    model.messages += rows + columns;
    linksOf[static_cast<size_t>(edge.from)].push_back(
        {model.edges, edge.to, true, byFrom, byTo, atFrom, atTo});
    linksOf[static_cast<size_t>(edge.to)].push_back(
        {model.edges, edge.from, false, byTo, byFrom, atTo, atFrom});
    ++model.edges;
  }

  /// All changes of what is in use, by time: at each, intervals end before others begin.
  struct Change {
    int64_t time;
    bool begins;
    size_t node;
  };

  std::vector<Change> changes() const {
    std::vector<Change> result;
    for (size_t node = 0; node < problem.nodes.size(); ++node)
      if (problem.nodes[node].begin < problem.nodes[node].end) {
        result.push_back({problem.nodes[node].begin, true, node});
        result.push_back({problem.nodes[node].end, false, node});
      }
    std::sort(result.begin(), result.end(), [](const Change &one, const Change &two) {
      return std::tie(one.time, one.begins, one.node) < std::tie(two.time, two.begins, two.node);
    });
    return result;
  }

  /// The nodes in use between a begin and the next end include those of all times around: a time for each
  /// such place, if the largest usages exceed the limit there.
  void makeTimes() {
    model.begin.assign(problem.nodes.size(), 0);
    model.end.assign(problem.nodes.size(), 0);
    int64_t most = 0;
    bool grown = false;
    for (const Change &change : changes()) {
      const int node = static_cast<int>(change.node);
      const int64_t usage = *std::max_element(model.usage.begin() + model.first[change.node],
                                              model.usage.begin() + model.first[change.node + 1]);
      if (!change.begins && grown)
        model.times += most > problem.limit;
      grown = change.begins;
      most += change.begins ? usage : -usage;
      (change.begins ? model.begin : model.end)[static_cast<size_t>(node)] = model.times;
    }
  }

  const ShardProblem &problem;
  const std::vector<std::vector<char>> &stays;
  ShardModel model;
};

} // namespace

ShardModel makeShardModel(const ShardProblem &problem) {
  const ShardProblem merged = mergedEdges(problem);
  return ModelMaker(merged, neededStrategies(merged)).make();
}

} // namespace kedge::solver
