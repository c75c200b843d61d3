#include "lib/Solver/Remat/RematStateBound.h"
#include <algorithm>

namespace kedge::solver {

/// Missing values that first runs up to the moment read, and what is missing to run those.
void RematStateBound::findSure(const RematState &state, int moment) {
  sure = 0;
  open.clear();
  std::fill(isSure.begin(), isSure.end(), false);
  auto add = [&](int node) {
    for (int value : chain.inputs[node])
      if (state.missing(value) && !isSure[value]) {
        isSure[value] = true;
        sure += chain.cost[value];
        open.push_back(value);
      }
  };
  for (int node = state.next; node <= moment; ++node)
    add(node);
  while (!open.empty()) {
    int value = open.back();
    open.pop_back();
    add(value);
  }
}

void RematStateBound::need(int value) {
  if (itemState[value])
    return;
  itemState[value] = true;
  open.push_back(value);
}

void RematStateBound::addItem(const RematState &state, int value, double bytes) {
  bool paidOnce = state.missing(value) && !isSure[value];
  items.push_back({value, bytes, cut.addArc(needed(value), again(value), 0), paidOnce});
  if (paidOnce) {
    cut.addArc(needed(value), once(value), MinCut::unlimited);
    cut.addArc(once(value), 1, chain.cost[value]);
  } else {
    cut.addArc(again(value), 1, chain.cost[value]);
  }
  for (int input : chain.inputs[value]) {
    need(input);
    cut.addArc(again(value), needed(input), MinCut::unlimited);
    if (paidOnce && state.missing(input) && !isSure[input])
      cut.addArc(once(value), once(input), MinCut::unlimited);
  }
}

void RematStateBound::build(const RematState &state, int moment, const RematValueSet &kept) {
  left = static_cast<double>(budget - chain.bytesOfRun(moment));
  kept.each([&](int value) { left -= static_cast<double>(chain.bytes[value]); });
  findSure(state, moment);
  cut.reset(2 + 3 * moment);
  items.clear();
  std::fill(itemState.begin(), itemState.end(), false);
  for (int value = 0; value < moment; ++value)
    if (!chain.readers[value].empty() && chain.readers[value].back() > moment) {
      need(value);
      cut.addArc(0, needed(value), MinCut::unlimited);
    }
  while (!open.empty()) {
    int value = open.back();
    open.pop_back();
    bool there = kept.has(value) || chain.inputSet[moment].has(value);
    addItem(state, value, there ? 0 : static_cast<double>(chain.bytes[value]));
  }
  built += 20 * static_cast<int64_t>(items.size());
}

RematStateBound::Solution RematStateBound::solve(double price) {
  for (const Item &item : items)
    cut.setCapacity(item.holdArc, price * item.bytes);
  std::vector<char> side = cut.sourceSide(0, 1);
  Solution solution{sure, 0};
  for (const Item &item : items) {
    if (side[needed(item.value)] && !side[again(item.value)])
      solution.bytes += item.bytes;
    if (side[item.paidOnce ? once(item.value) : again(item.value)])
      solution.cost += chain.cost[item.value];
  }
  return solution;
}

double RematStateBound::quick(const RematState &state, int moment, const RematValueSet &kept) {
  build(state, moment, kept);
  if (!hasPrice(moment))
    return sure;
  return std::max(sure, valueOf(solve(prices[moment]), prices[moment]));
}

double RematStateBound::best(const RematState &state, int moment, double enough) {
  build(state, moment, {});
  return searchPrice(moment, enough);
}

/// Each price gives a bound. Between a solution that takes too much and one that fits, the next price is the
/// one at which both cost the same.
double RematStateBound::searchPrice(int moment, double enough) {
  double lowPrice = 1e-9 * chain.costPerByte, highPrice = 1e6 * chain.costPerByte;
  Solution large = solve(lowPrice);
  double result = std::max(sure, valueOf(large, lowPrice));
  if (large.bytes <= left)
    return result;
  Solution small = solve(highPrice);
  result = std::max(result, valueOf(small, highPrice));
  if (small.bytes > left)
    return result;
  double price = hasPrice(moment) ? prices[moment] : (small.cost - large.cost) / (large.bytes - small.bytes);
  for (int round = 0; round < 30 && price > 0; ++round) {
    Solution middle = solve(price);
    double value = valueOf(middle, price);
    if (value > result) {
      result = value;
      prices[moment] = price;
    }
    bool tooMuch = middle.bytes > left;
    if (result >= enough || (tooMuch ? middle.bytes >= large.bytes : middle.bytes <= small.bytes))
      break;
    (tooMuch ? large : small) = middle;
    price = (small.cost - large.cost) / (large.bytes - small.bytes);
  }
  return result;
}

} // namespace kedge::solver
