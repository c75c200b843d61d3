// A strategy for each node, with what it costs and uses. Strategies are counted over all nodes.
#pragma once
#include "lib/Solver/Shard/ShardModel.h"

namespace kedge::solver {

class ShardState {
public:
  ShardState(const ShardModel &model, std::vector<int> labels);

  /// How good labels are: less excess over the limit, then less cost.
  struct Worth {
    int64_t excess = 0; ///< summed over times
    double cost = 0;
    bool operator<(const Worth &other) const {
      return excess != other.excess ? excess < other.excess : cost < other.cost;
    }
  };

  Worth worth() const { return {excess, cost}; }
  bool fits() const { return excess == 0 && cost < model->forbidden; }
  /// With other labels for some nodes. `over` gets the times that exceed the limit then, of
  /// those at which these nodes change it.
  Worth worthWith(const std::vector<int> &nodes, const std::vector<int> &labels, std::vector<int> *over);
  void set(const std::vector<int> &nodes, const std::vector<int> &labels);

  int label(int node) const { return chosen[static_cast<size_t>(node)]; }
  const std::vector<int> &labels() const { return chosen; }
  const std::vector<int64_t> &used() const { return usage; }
  /// The time of the largest excess; -1 if there is none.
  int worstTime() const;

private:
  double costOf(int node, int link) const;

  const ShardModel *model;
  std::vector<int> chosen;
  std::vector<int64_t> usage, change; ///< by time; `change` is 0 between calls
  int64_t excess = 0;
  double cost = 0;
};

} // namespace kedge::solver
