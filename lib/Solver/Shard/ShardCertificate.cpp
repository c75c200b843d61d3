#include "lib/Solver/Shard/ShardCertificate.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::solver {
namespace {

/// Twice what one operation can be wrong by, relative to its result.
constexpr double kRounding = 0x1p-52;

/// A sum of products with the most that it can be wrong by (Higham, "Accuracy and stability of numerical
/// algorithms", chapter 4: n additions are wrong by less than n roundings of the sum of magnitudes).
class SafeSum {
public:
  void add(double term) {
    total += term;
    magnitude += std::abs(term);
    ++terms;
  }
  /// Not above the exact sum: each term came from two roundings at most.
  double atLeast() const {
    return total - (terms + 4) * kRounding * magnitude * (1 + (terms + 4) * kRounding);
  }
  double size() const { return magnitude; }

private:
  double total = 0, magnitude = 0, terms = 0;
};

/// Of exact prices, before each time.
std::vector<double> exactSums(const std::vector<double> &prices) {
  std::vector<double> sums(prices.size() + 1, 0);
  for (size_t time = 0; time < prices.size(); ++time)
    sums[time + 1] = sums[time] + prices[time];
  return sums;
}

class Certificate {
public:
  Certificate(const ShardModel &model, const std::vector<double> &messages, const std::vector<double> &prices)
      : model(model), messages(messages), until(exactSums(exactPrices(prices))) {}

  int64_t bound() const {
    SafeSum total;
    for (int node = 0; node < model.nodes(); ++node) {
      total.add(nodeAtLeast(node));
      for (int at = model.linkFirst[static_cast<size_t>(node)];
           at < model.linkFirst[static_cast<size_t>(node) + 1]; ++at)
        if (model.links[static_cast<size_t>(at)].atFrom)
          total.add(edgeAtLeast(node, model.links[static_cast<size_t>(at)]));
    }
    total.add(model.fixedCost);
    for (size_t time = 0; time < model.room.size(); ++time)
      total.add(-(until[time + 1] - until[time]) * static_cast<double>(model.room[time]));
    const double least = total.atLeast();
    return least > 0 && least < 0x1p62 ? static_cast<int64_t>(std::ceil(least)) : 0;
  }

private:
  double nodeAtLeast(int node) const {
    const size_t at = static_cast<size_t>(node);
    double least = std::numeric_limits<double>::infinity();
    for (int strategy = model.first[at]; strategy < model.first[at + 1]; ++strategy) {
      SafeSum sum;
      sum.add(model.cost[static_cast<size_t>(strategy)]);
      for (int each = model.spanFirst[at]; each < model.spanFirst[at + 1]; ++each) {
        const ShardSpan &span = model.spans[static_cast<size_t>(each)];
        const double price = until[static_cast<size_t>(span.end)] - until[static_cast<size_t>(span.begin)];
        sum.add(price * static_cast<double>(model.amount(span, node, strategy)));
      }
      for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link)
        sum.add(-messages[model.links[static_cast<size_t>(link)].messages +
                          static_cast<size_t>(strategy - model.first[at])]);
      least = std::min(least, sum.atLeast());
    }
    return least;
  }

  double edgeAtLeast(int node, const ShardLink &link) const {
    const size_t rows = static_cast<size_t>(model.strategies(node));
    const size_t columns = static_cast<size_t>(model.strategies(link.other));
    double least = std::numeric_limits<double>::infinity();
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        const double price = model.prices[link.outward + row * columns + column];
        const double one = messages[link.messages + row], other = messages[link.opposite + column];
        const double wrong = 8 * kRounding * (price + std::abs(one) + std::abs(other));
        least = std::min(least, price + one + other - wrong);
      }
    return least;
  }

  const ShardModel &model;
  const std::vector<double> &messages;
  std::vector<double> until;
};

} // namespace

std::vector<double> exactPrices(const std::vector<double> &prices) {
  double total = 0;
  for (double price : prices)
    total += price;
  std::vector<double> exact(prices.size(), 0);
  if (!(total > 0) || !std::isfinite(total))
    return exact;
  const double grid = std::ldexp(1, std::ilogb(total) - 50);
  for (size_t time = 0; time < prices.size(); ++time)
    exact[time] = std::floor(prices[time] / grid) * grid;
  return exact;
}

int64_t certifiedBound(const ShardModel &model, const std::vector<double> &messages,
                       const std::vector<double> &prices) {
  return Certificate(model, messages, prices).bound();
}

} // namespace kedge::solver
