#include "ArenaEjection.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kedge::solver {
namespace {
constexpr int64_t notPlaced = -1;
constexpr double weightGrowth = 1.1;
constexpr int64_t effortOfTaking = 20; // from the heap
} // namespace

ArenaEjection::ArenaEjection(const ArenaProblem &problem, uint64_t seed)
    : problem(problem), neighbours(problem.items.size()), random(seed) {
  std::vector<int> byStart(problem.items.size()), live;
  std::iota(byStart.begin(), byStart.end(), 0);
  std::stable_sort(byStart.begin(), byStart.end(),
                   [&](int a, int b) { return problem.items[a].first < problem.items[b].first; });
  for (int item : byStart) {
    std::erase_if(live, [&](int other) { return problem.items[other].last < problem.items[item].first; });
    for (int other : live) {
      neighbours[item].push_back(other);
      neighbours[other].push_back(item);
    }
    live.push_back(item);
  }
  for (const ArenaItem &item : problem.items)
    area.push_back(static_cast<double>(item.size) * (item.last - item.first + 1));
  weight = area;
}

ArenaPlacement ArenaEjection::placement() const {
  ArenaPlacement result{offset, 0};
  for (size_t i = 0; i < offset.size(); ++i)
    result.height = std::max(result.height, offset[i] + problem.items[i].size);
  return result;
}

void ArenaEjection::reset(int64_t limit, const ArenaPlacement &start) {
  height = limit;
  offset = start.offsets;
  waiting.clear();
  for (size_t i = 0; i < offset.size(); ++i) {
    weight[i] = area[i] * std::sqrt(std::sqrt(weight[i] / area[i]));
    if (offset[i] + problem.items[i].size <= height)
      continue;
    offset[i] = notPlaced;
    wait(static_cast<int>(i));
  }
}

bool ArenaEjection::run(int64_t limit, const ArenaPlacement &start, int64_t steps, ArenaEffort &effort) {
  reset(limit, start);
  int64_t end = effort.used() + steps;
  while (!waiting.empty()) {
    if (effort.isSpent() || effort.used() >= end)
      return false;
    int item = takeHeaviest();
    collectStands(item);
    effort.spend(effortOfTaking + static_cast<int64_t>(neighbours[item].size() + 6 * byBegin.size()));
    put(item, bestPlace(problem.items[item].size));
  }
  return true;
}

/// Weights grow only before items start to wait, so that the heap stays one.
void ArenaEjection::wait(int item) {
  waiting.push_back(item);
  std::push_heap(waiting.begin(), waiting.end(), [&](int a, int b) { return weight[a] < weight[b]; });
}

int ArenaEjection::takeHeaviest() {
  std::pop_heap(waiting.begin(), waiting.end(), [&](int a, int b) { return weight[a] < weight[b]; });
  int item = waiting.back();
  waiting.pop_back();
  return item;
}

void ArenaEjection::collectStands(int item) {
  byBegin.clear();
  for (int other : neighbours[item])
    if (offset[other] != notPlaced)
      byBegin.push_back({offset[other], offset[other] + problem.items[other].size, weight[other], other});
  byEnd = byBegin;
  std::sort(byBegin.begin(), byBegin.end(), [](const Stand &a, const Stand &b) { return a.begin < b.begin; });
  std::sort(byEnd.begin(), byEnd.end(), [](const Stand &a, const Stand &b) { return a.end < b.end; });
  weightBefore.assign(1, 0);
  for (const Stand &stand : byBegin)
    weightBefore.push_back(weightBefore.back() + stand.weight);
}

/// The lowest place that is free, or the one of least weight, give or take a twentieth. Places are on top of a stand,
/// right below one, at the bottom and at the top.
int64_t ArenaEjection::bestPlace(int64_t size) {
  size_t begun = 0, ended = 0, under = 0, count = byBegin.size();
  double endedWeight = 0, least = std::numeric_limits<double>::infinity();
  int64_t at = 0, top = height - size;
  for (int64_t place = 0; place <= top;) {
    while (begun < count && byBegin[begun].begin < place + size)
      ++begun;
    while (ended < count && byEnd[ended].end <= place)
      endedWeight += byEnd[ended++].weight;
    if (begun == ended)
      return place;
    double harm = (weightBefore[begun] - endedWeight) * (1 + 0.05 * random.unit());
    if (harm < least) {
      least = harm;
      at = place;
    }
    while (under < count && byBegin[under].begin - size <= place)
      ++under;
    int64_t next = place < top ? top : height;
    next = std::min(next, ended < count ? byEnd[ended].end : height);
    place = std::min(next, under < count ? byBegin[under].begin - size : height);
  }
  return at;
}

void ArenaEjection::put(int item, int64_t at) {
  int64_t end = at + problem.items[item].size;
  for (const Stand &stand : byBegin) {
    if (stand.begin >= end || stand.end <= at)
      continue;
    offset[stand.item] = notPlaced;
    weight[stand.item] *= weightGrowth;
    wait(stand.item);
  }
  offset[item] = at;
}

} // namespace kedge::solver
