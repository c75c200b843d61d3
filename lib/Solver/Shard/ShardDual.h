// A lower bound by Lagrangian relaxation. Each time has a price per unit of memory, and each edge messages
// that move costs between it and its nodes: for any prices and messages, the sum of what each node and each
// edge costs at least, less the price of the limit, is below all solutions. Messages are sent along the
// nodes' order, forward and backward (sequential reweighted message passing: Kolmogorov, "A new look at
// reweighted message passing", 2015, which for pairs is TRW-S); prices follow the subgradient with the step
// of Held and Karp (1971).
#pragma once
#include "lib/Solver/Shard/ShardCertificate.h"

namespace kedge::solver {

class ShardDual {
public:
  explicit ShardDual(const ShardModel &model);

  /// One pass over all nodes. Labels each node, after those before it, with what costs least by the messages.
  void pass(bool forward);
  /// What messages and prices prove after a pass, up to rounding.
  double value() const;
  /// Takes usages into account and gives the squared length of the direction that prices would go: the excess
  /// over the limit, averaged over the last passes.
  double turn(const std::vector<int64_t> &used);
  /// Moves prices along the direction; none below 0.
  void move(double step);

  void setPrices(const std::vector<double> &prices);
  /// Keeps, and goes back to, messages and prices.
  void keep();
  void goBack();

  const std::vector<int> &labels() const { return chosen; }
  const std::vector<double> &prices() const { return timePrice; }
  /// Prices and messages, without steps.
  ShardProof proof() const;
  int64_t certified() const { return certifiedBound(model, messages, timePrice); }

private:
  void pull(int node, const ShardLink &link);
  void choose(int node, bool forward);
  void push(int node, bool forward);
  void reprice();

  const ShardModel &model;
  std::vector<double> messages;  ///< what edges took from their nodes, by strategy
  std::vector<double> left;      ///< what strategies cost, less messages
  std::vector<double> timePrice; ///< per unit of memory
  std::vector<double> direction;
  std::vector<double> keptMessages, keptPrices;
  std::vector<int> chosen; ///< strategies, counted over all nodes
  std::vector<double> scratch;
};

} // namespace kedge::solver
