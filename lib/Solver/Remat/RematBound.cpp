#include "lib/Solver/Remat/RematBound.h"
#include "lib/Solver/Remat/RematPrecedence.h"
#include <algorithm>
#include <cmath>
#include <queue>

namespace kedge::solver {
namespace {

/// Effort: so that a bound takes about a second.
constexpr size_t momentsTimesNodes = 600'000;
constexpr int64_t workPerNode = 300'000, mostWork = 120'000'000;
using Choice = ProgramPoint::Choice;
using Runs = ProgramPoint::Runs;

/// Least added cost at one moment: Lagrange multipliers for the bytes, and branching on what is held.
class MomentBound {
public:
  MomentBound(ProgramPoint &moment, double bytesLeft, double grid, double scale)
      : moment(moment), bytesLeft(bytesLeft), grid(grid), scale(scale) {}

  struct Node {
    double bound = 0;
    int branch = -1; ///< item whose choice is open; -1: the bound is the optimum
    std::vector<Choice> choices;
  };

  Node relax(std::vector<Choice> choices) {
    Node node{infiniteCost, -1, std::move(choices)};
    std::optional<ProgramPoint::Solution> small = moment.solve(Runs::allFree, 1, node.choices);
    if (!small || small->bytes > bytesLeft)
      return node;
    std::optional<ProgramPoint::Solution> large = moment.solve(Runs::paid, 1e-9 * scale, node.choices);
    node.bound = large->cost - 1e-9 * scale * bytesLeft * 0;
    if (large->bytes <= bytesLeft)
      return rounded(node);
    double value = 0;
    for (int round = 0; round < 60; ++round) {
      double price = (small->cost - large->cost) / (large->bytes - small->bytes);
      if (!(price > 0))
        break;
      std::optional<ProgramPoint::Solution> middle = moment.solve(Runs::paid, price, node.choices);
      value = middle->cost + price * (middle->bytes - bytesLeft);
      node.bound = std::max(node.bound, value);
      double corner = large->cost + price * (large->bytes - bytesLeft);
      if (value >= corner - 1e-9 * (std::abs(corner) + 1e-12))
        break;
      (middle->bytes > bytesLeft ? large : small) = std::move(middle);
    }
    if (small->cost > node.bound * (1 + 1e-9))
      node.branch = differing(*small, *large);
    return rounded(node);
  }

  /// Best first, so that the smallest open bound is proven at any time.
  double branch(Node root, double enough, int64_t workLeft) {
    auto worse = [](const Node &a, const Node &b) { return a.bound > b.bound; };
    std::priority_queue<Node, std::vector<Node>, decltype(worse)> open(worse);
    open.push(std::move(root));
    while (!open.empty()) {
      Node node = open.top();
      if (node.branch < 0 || node.bound >= enough || moment.work() > workLeft)
        break;
      open.pop();
      for (Choice choice : {Choice::held, Choice::dropped}) {
        std::vector<Choice> choices = node.choices;
        choices[node.branch] = choice;
        Node child = relax(std::move(choices));
        child.bound = std::max(child.bound, node.bound);
        if (child.bound < infiniteCost)
          open.push(std::move(child));
      }
    }
    return open.empty() ? infiniteCost : open.top().bound;
  }

private:
  int differing(const ProgramPoint::Solution &a, const ProgramPoint::Solution &b) const {
    int best = -1;
    for (int item = 0; item < moment.items(); ++item)
      if (a.held[item] != b.held[item] && (best < 0 || moment.itemBytes(item) > moment.itemBytes(best)))
        best = item;
    return best;
  }

  Node rounded(Node node) const {
    // Floating point has erred by less than that.
    node.bound = std::max(0.0, node.bound * (1 - 1e-9));
    if (grid > 0)
      node.bound = grid * std::ceil(node.bound / grid - 1e-6);
    return node;
  }

  ProgramPoint &moment;
  double bytesLeft, grid, scale; ///< scale: a usual cost of a byte
};

/// The bound within one budget, from what all budgets share.
class BudgetBound {
public:
  BudgetBound(const RematModel &model, const RematPrecedence &precedence, double grid, int64_t allWork,
              int64_t budget)
      : model(model), budget(budget), precedence(precedence), grid(grid), allWork(allWork),
        workLeft(allWork) {
    double bytes = 1;
    for (const RematValue &value : model.problem.values)
      bytes += static_cast<double>(value.bytes);
    scale = std::max(model.requiredCost, 1e-300) / bytes;
  }

  /// Of moments that cost something, the tightest first.
  double find(const std::vector<std::pair<double, int>> &tight, double enough) {
    double bound = 0;
    std::vector<std::pair<double, int>> relaxed;
    for (auto [over, node] : coarsely(tight)) {
      if (workLeft < allWork / 2)
        break;
      std::vector<ProgramPoint::When> when = precedence.around(node);
      ProgramPoint moment(model, node, when);
      MomentBound at(moment, static_cast<double>(budget - moment.ownBytes()), grid, scale);
      double value = at.relax(std::vector<Choice>(moment.items(), Choice::open)).bound;
      workLeft -= moment.work();
      relaxed.push_back({value, node});
      bound = std::max(bound, value);
    }
    std::sort(relaxed.begin(), relaxed.end(), std::greater<>());
    for (auto [value, node] : relaxed) {
      if (workLeft < 0 || bound >= enough)
        break;
      std::vector<ProgramPoint::When> when = precedence.around(node);
      ProgramPoint moment(model, node, when);
      MomentBound at(moment, static_cast<double>(budget - moment.ownBytes()), grid, scale);
      MomentBound::Node root = at.relax(std::vector<Choice>(moment.items(), Choice::open));
      bound = std::max(bound, at.branch(std::move(root), enough, workLeft / 4));
      workLeft -= moment.work();
    }
    return bound;
  }

private:
  /// Every fourth first: what a moment costs need not follow its bytes, and the work may end before all are
  /// done.
  static std::vector<std::pair<double, int>> coarsely(const std::vector<std::pair<double, int>> &tight) {
    std::vector<std::pair<double, int>> result;
    for (bool fourth : {true, false})
      for (size_t i = 0; i < tight.size(); ++i)
        if ((i % 4 == 0) == fourth)
          result.push_back(tight[i]);
    return result;
  }

  const RematModel &model;
  int64_t budget;
  const RematPrecedence &precedence;
  double grid, scale;
  int64_t allWork, workLeft; ///< of cuts
};

} // namespace

RematBounds::RematBounds(const RematModel &model)
    : model(model), precedence(model), grid(costGrid(model.problem)),
      allWork(std::min(workPerNode * model.nodeCount, mostWork)) {
  for (int node : model.problem.order)
    peak = std::max(peak, ProgramPoint::bytesOfRun(model, node));
  int64_t work = 0;
  for (int node : moments())
    if (work < allWork / 2)
      work += screen(node);
}

/// The nodes at whose first run it may be tight, the most promising first: those that hold much whatever
/// the order, as the steps of the main chain do, and not what runs when it likes, such as gradients of
/// weights. In large problems one of every few steps, since those around it say much the same.
std::vector<int> RematBounds::moments() const {
  const std::vector<int> &order = model.problem.order;
  std::vector<int64_t> held = precedence.heldAt();
  auto less = [&](int a, int b) { return held[a] < held[b]; };
  size_t stride = 1 + order.size() * order.size() / momentsTimesNodes;
  std::vector<int> result;
  for (size_t begin = 0; begin < order.size(); begin += stride)
    result.push_back(*std::max_element(order.begin() + begin,
                                       order.begin() + std::min(begin + stride, order.size()), less));
  std::stable_sort(result.begin(), result.end(), [&](int a, int b) { return less(b, a); });
  return result;
}

/// Returns the work that it took.
int64_t RematBounds::screen(int node) {
  std::vector<ProgramPoint::When> when = precedence.around(node);
  ProgramPoint moment(model, node, when);
  std::vector<Choice> open(moment.items(), Choice::open);
  std::optional<ProgramPoint::Solution> least = moment.solve(Runs::allFree, 1, open);
  peak = std::max(peak, moment.ownBytes() + static_cast<int64_t>(least->bytes));
  std::optional<ProgramPoint::Solution> unpaid = moment.solve(Runs::freeOnly, 1, open);
  screened.push_back(
      {static_cast<double>(moment.ownBytes()) + (unpaid ? unpaid->bytes : infiniteCost), node});
  return moment.work();
}

RematBound RematBounds::within(int64_t budget, double enough) const {
  if (peak > budget)
    return {infiniteCost, peak};
  std::vector<std::pair<double, int>> tight;
  for (auto [bytes, node] : screened)
    if (double over = bytes - static_cast<double>(budget); over > 0)
      tight.push_back({over, node});
  std::sort(tight.begin(), tight.end(), std::greater<>());
  return {BudgetBound(model, precedence, grid, allWork, budget).find(tight, enough), peak};
}

} // namespace kedge::solver
