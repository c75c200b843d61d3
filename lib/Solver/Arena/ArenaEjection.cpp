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
  for (size_t i = 0; i < area.size(); ++i)
    stands.push_back({notPlaced, problem.items[i].size, area[i]});
}

ArenaPlacement ArenaEjection::placement() const {
  ArenaPlacement result;
  for (const Stand &stand : stands) {
    result.offsets.push_back(stand.begin);
    result.height = std::max(result.height, stand.begin + stand.size);
  }
  return result;
}

void ArenaEjection::reset(int64_t limit, const ArenaPlacement &start) {
  height = limit;
  waiting.clear();
  for (size_t i = 0; i < stands.size(); ++i) {
    Stand &stand = stands[i];
    stand.begin = start.offsets[i];
    stand.weight = area[i] * std::sqrt(std::sqrt(stand.weight / area[i]));
    if (stand.begin + stand.size <= height)
      continue;
    stand.begin = notPlaced;
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
    put(item, bestPlace(stands[item].size));
  }
  return true;
}

/// Weights grow only before items start to wait, so that the heap stays one.
void ArenaEjection::wait(int item) {
  waiting.push_back(item);
  std::push_heap(waiting.begin(), waiting.end(),
                 [&](int a, int b) { return stands[a].weight < stands[b].weight; });
}

int ArenaEjection::takeHeaviest() {
  std::pop_heap(waiting.begin(), waiting.end(),
                [&](int a, int b) { return stands[a].weight < stands[b].weight; });
  int item = waiting.back();
  waiting.pop_back();
  return item;
}

void ArenaEjection::collectStands(int item) {
  const std::vector<int> &others = neighbours[item];
  byBegin.resize(others.size());
  byEnd.resize(others.size());
  size_t count = 0;
  for (int other : others) {
    const Stand &stand = stands[other];
    byBegin[count] = {stand.begin, other};
    byEnd[count] = {stand.begin + stand.size, other};
    count += stand.begin != notPlaced;
  }
  byBegin.resize(count);
  byEnd.resize(count);
  auto less = [](Edge a, Edge b) { return a.at < b.at; };
  std::sort(byBegin.begin(), byBegin.end(), less);
  std::sort(byEnd.begin(), byEnd.end(), less);
  weightBefore.resize(count + 1);
  weightBefore[0] = 0;
  for (size_t i = 0; i < count; ++i)
    weightBefore[i + 1] = weightBefore[i] + stands[byBegin[i].item].weight;
}

/// The lowest place that is free, or the one of least weight, give or take a twentieth. Places are on top of
/// a stand, right below one, at the bottom and at the top.
int64_t ArenaEjection::bestPlace(int64_t size) {
  size_t begun = 0, ended = 0, under = 0, count = byBegin.size();
  double endedWeight = 0, least = std::numeric_limits<double>::infinity();
  int64_t at = 0, top = height - size;
  for (int64_t place = 0; place <= top;) {
    while (begun < count && byBegin[begun].at < place + size)
      ++begun;
    while (ended < count && byEnd[ended].at <= place)
      endedWeight += stands[byEnd[ended++].item].weight;
    if (begun == ended)
      return place;
    double harm = (weightBefore[begun] - endedWeight) * (1 + 0.05 * random.unit());
    if (harm < least) {
      least = harm;
      at = place;
    }
    while (under < count && byBegin[under].at - size <= place)
      ++under;
    int64_t next = place < top ? top : height;
    next = std::min(next, ended < count ? byEnd[ended].at : height);
    place = std::min(next, under < count ? byBegin[under].at - size : height);
  }
  return at;
}

void ArenaEjection::put(int item, int64_t at) {
  int64_t end = at + stands[item].size;
  for (Edge edge : byBegin) {
    Stand &stand = stands[edge.item];
    if (edge.at >= end || edge.at + stand.size <= at)
      continue;
    stand.begin = notPlaced;
    stand.weight *= weightGrowth;
    wait(edge.item);
  }
  stands[item].begin = at;
}

} // namespace kedge::solver
