#include "lib/Solver/Shard/ShardDual.h"
#include <algorithm>

namespace kedge::solver {
namespace {

/// Sums of prices before each time.
std::vector<double> sumsBefore(const std::vector<double> &prices) {
  std::vector<double> sums(prices.size() + 1, 0);
  for (size_t time = 0; time < prices.size(); ++time)
    sums[time + 1] = sums[time] + prices[time];
  return sums;
}

} // namespace

ShardDual::ShardDual(const ShardModel &model)
    : model(model), messages(model.messages), left(model.cost), timePrice(static_cast<size_t>(model.times)),
      direction(timePrice.size()), chosen(static_cast<size_t>(model.nodes())) {
  std::copy_n(model.first.begin(), chosen.size(), chosen.begin());
  int most = 0;
  for (int node = 0; node < model.nodes(); ++node)
    most = std::max(most, model.strategies(node));
  scratch.resize(static_cast<size_t>(most));
  keep();
}

/// The edge keeps nothing: what it costs at least with each strategy goes to the node.
void ShardDual::pull(int node, const ShardLink &link) {
  const size_t count = static_cast<size_t>(model.strategies(node));
  const size_t others = static_cast<size_t>(model.strategies(link.other));
  double *least = scratch.data();
  const double *row = &model.prices[link.inward];
  const double *theirs = &messages[link.opposite];
  for (size_t strategy = 0; strategy < count; ++strategy)
    least[strategy] = row[strategy] + theirs[0];
  for (size_t other = 1; other < others; ++other) {
    row += count;
    const double more = theirs[other];
    for (size_t strategy = 0; strategy < count; ++strategy) {
      const double price = row[strategy] + more;
      least[strategy] = price < least[strategy] ? price : least[strategy];
    }
  }
  double *mine = &messages[link.messages];
  double *rest = &left[static_cast<size_t>(model.first[static_cast<size_t>(node)])];
  for (size_t strategy = 0; strategy < count; ++strategy) {
    rest[strategy] += least[strategy] + mine[strategy];
    mine[strategy] = -least[strategy];
  }
}

/// With the edges to nodes that are labelled at their price.
void ShardDual::choose(int node, bool forward) {
  const size_t count = static_cast<size_t>(model.strategies(node));
  const size_t begin = static_cast<size_t>(model.first[static_cast<size_t>(node)]);
  double *price = scratch.data();
  std::copy_n(&left[begin], count, price);
  for (int at = model.linkFirst[static_cast<size_t>(node)];
       at < model.linkFirst[static_cast<size_t>(node) + 1]; ++at) {
    const ShardLink &link = model.links[static_cast<size_t>(at)];
    if ((link.other < node) != forward)
      continue;
    const int other = chosen[static_cast<size_t>(link.other)] - model.first[static_cast<size_t>(link.other)];
    const double *row = &model.prices[link.inward + static_cast<size_t>(other) * count];
    for (size_t strategy = 0; strategy < count; ++strategy)
      price[strategy] += row[strategy] + messages[link.messages + strategy];
  }
  chosen[static_cast<size_t>(node)] =
      static_cast<int>(begin + static_cast<size_t>(std::min_element(price, price + count) - price));
}

/// Edges to the nodes that follow get equal parts; as many parts stay as edges came in more than go out.
void ShardDual::push(int node, bool forward) {
  int before = 0, after = 0;
  const int linkBegin = model.linkFirst[static_cast<size_t>(node)],
            linkEnd = model.linkFirst[static_cast<size_t>(node) + 1];
  for (int at = linkBegin; at < linkEnd; ++at)
    ++((model.links[static_cast<size_t>(at)].other < node) == forward ? before : after);
  if (after == 0)
    return;
  const double part = 1.0 / std::max(before, after);
  const size_t count = static_cast<size_t>(model.strategies(node));
  double *rest = &left[static_cast<size_t>(model.first[static_cast<size_t>(node)])];
  for (int at = linkBegin; at < linkEnd; ++at) {
    const ShardLink &link = model.links[static_cast<size_t>(at)];
    if ((link.other < node) == forward)
      continue;
    for (size_t strategy = 0; strategy < count; ++strategy)
      messages[link.messages + strategy] += part * rest[strategy];
  }
  const double stays = after >= before ? 0 : 1 - part * after;
  for (size_t strategy = 0; strategy < count; ++strategy)
    rest[strategy] *= stays;
}

void ShardDual::pass(bool forward) {
  for (int step = 0; step < model.nodes(); ++step) {
    const int node = forward ? step : model.nodes() - 1 - step;
    for (int at = model.linkFirst[static_cast<size_t>(node)];
         at < model.linkFirst[static_cast<size_t>(node) + 1]; ++at)
      if ((model.links[static_cast<size_t>(at)].other < node) == forward)
        pull(node, model.links[static_cast<size_t>(at)]);
    choose(node, forward);
    push(node, forward);
  }
}

/// After a pass no edge keeps anything.
double ShardDual::value() const {
  double total = 0;
  for (int node = 0; node < model.nodes(); ++node)
    total += *std::min_element(left.begin() + model.first[static_cast<size_t>(node)],
                               left.begin() + model.first[static_cast<size_t>(node) + 1]);
  for (size_t time = 0; time < timePrice.size(); ++time)
    total -= timePrice[time] * static_cast<double>(model.room[time]);
  return total + model.fixedCost;
}

double ShardDual::turn(const std::vector<int64_t> &used) {
  double norm = 0;
  for (size_t time = 0; time < timePrice.size(); ++time) {
    direction[time] = 0.7 * direction[time] + 0.3 * static_cast<double>(used[time] - model.room[time]);
    const bool blocked = timePrice[time] == 0 && direction[time] < 0;
    norm += blocked ? 0 : direction[time] * direction[time];
  }
  return norm;
}

void ShardDual::move(double step) {
  for (size_t time = 0; time < timePrice.size(); ++time)
    timePrice[time] = std::max(0.0, timePrice[time] + step * direction[time]);
  reprice();
}

void ShardDual::setPrices(const std::vector<double> &prices) {
  timePrice = prices;
  reprice();
}

void ShardDual::reprice() {
  const std::vector<double> until = sumsBefore(timePrice);
  for (int node = 0; node < model.nodes(); ++node) {
    const size_t at = static_cast<size_t>(node);
    const size_t begin = static_cast<size_t>(model.first[at]),
                 count = static_cast<size_t>(model.strategies(node));
    for (size_t strategy = begin; strategy < begin + count; ++strategy)
      left[strategy] = model.cost[strategy];
    for (int each = model.spanFirst[at]; each < model.spanFirst[at + 1]; ++each) {
      const ShardSpan &span = model.spans[static_cast<size_t>(each)];
      const double price = until[static_cast<size_t>(span.end)] - until[static_cast<size_t>(span.begin)];
      for (size_t strategy = 0; strategy < count && price > 0; ++strategy)
        left[begin + strategy] += price * static_cast<double>(model.amounts[span.amounts + strategy]);
    }
    for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link)
      for (size_t strategy = 0; strategy < count; ++strategy)
        left[begin + strategy] -= messages[model.links[static_cast<size_t>(link)].messages + strategy];
  }
}

ShardProof ShardDual::proof() const {
  ShardProof made;
  const std::vector<double> exact = exactPrices(timePrice);
  for (size_t time = 0; time < exact.size(); ++time)
    if (exact[time] > 0)
      made.prices.push_back({model.moment[time], exact[time]});
  for (int node = 0; node < model.nodes(); ++node)
    for (int at = model.linkFirst[static_cast<size_t>(node)];
         at < model.linkFirst[static_cast<size_t>(node) + 1]; ++at) {
      const ShardLink &link = model.links[static_cast<size_t>(at)];
      if (!link.atFrom)
        continue;
      const auto begin = messages.begin();
      const auto from = begin + static_cast<std::ptrdiff_t>(link.messages),
                 to = begin + static_cast<std::ptrdiff_t>(link.opposite);
      made.messages.push_back({model.origin[static_cast<size_t>(node)],
                               model.origin[static_cast<size_t>(link.other)],
                               {from, from + model.strategies(node)},
                               {to, to + model.strategies(link.other)}});
    }
  return made;
}

void ShardDual::keep() {
  keptMessages = messages;
  keptPrices = timePrice;
}

void ShardDual::goBack() {
  messages = keptMessages;
  timePrice = keptPrices;
  std::fill(direction.begin(), direction.end(), 0);
  reprice();
}

} // namespace kedge::solver
