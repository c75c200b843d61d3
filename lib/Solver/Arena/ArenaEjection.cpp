#include "lib/Solver/Arena/ArenaEjection.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kedge::solver {
namespace {
constexpr double weightGrowth = 1.1;
constexpr int64_t effortOfTaking = 20; // from the heap
constexpr size_t worthPassing = 5; // items passed over for a neighbour: cheaper than to sort the neighbours
constexpr size_t worthMoving = 8;  // places that an edge moves: cheaper than to sort all

template <typename Edge> bool isLower(Edge a, Edge b) { return a.at < b.at; }

template <typename Edge> void insert(std::vector<Edge> &edges, Edge edge) {
  edges.insert(std::upper_bound(edges.begin(), edges.end(), edge, isLower<Edge>), edge);
}

/// For what is nearly in order: each edge goes back past those that are higher. Many that have far to go are
/// sorted as any others are.
template <typename Edge> void sortAgain(std::vector<Edge> &edges) {
  size_t left = worthMoving * edges.size();
  for (size_t i = 1; i < edges.size(); ++i) {
    const Edge edge = edges[i];
    size_t at = i;
    for (; at > 0 && edge.at < edges[at - 1].at; --at)
      edges[at] = edges[at - 1];
    edges[at] = edge;
    if (i - at > left)
      return std::stable_sort(edges.begin(), edges.end(), isLower<Edge>);
    left -= i - at;
  }
}

template <typename Edge> void erase(std::vector<Edge> &edges, Edge edge) {
  auto at = std::lower_bound(edges.begin(), edges.end(), edge, isLower<Edge>);
  while (at->item != edge.item)
    ++at;
  edges.erase(at);
}
} // namespace

ArenaEjection::ArenaEjection(const ArenaProblem &problem, uint64_t seed)
    : problem(problem), neighbours(problem.items.size()), random(seed), turns(problem.items.size(), -1) {
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
  size_t pairs = 0;
  for (const auto &others : neighbours)
    pairs += others.size();
  keepsOrder = pairs * worthPassing > problem.items.size() * problem.items.size();
  for (const ArenaItem &item : problem.items)
    area.push_back(static_cast<double>(item.size) * (item.last - item.first + 1));
  for (size_t i = 0; i < area.size(); ++i)
    stands.push_back({0, problem.items[i].size, area[i], true});
  if (!keepsOrder)
    neighboursByEnd = neighbours;
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
  allByBegin.clear();
  allByEnd.clear();
  for (size_t i = 0; i < stands.size(); ++i) {
    Stand &stand = stands[i];
    stand.begin = start.offsets[i];
    stand.weight = area[i] * std::sqrt(std::sqrt(stand.weight / area[i]));
    const int item = static_cast<int>(i);
    stand.waits = stand.begin + stand.size > height;
    if (!stand.waits) {
      if (keepsOrder) {
        allByBegin.push_back({stand.begin, item});
        allByEnd.push_back({stand.begin + stand.size, item});
      }
      continue;
    }
    wait(item);
  }
  std::stable_sort(allByBegin.begin(), allByBegin.end(), isLower<Edge>);
  std::stable_sort(allByEnd.begin(), allByEnd.end(), isLower<Edge>);
}

void ArenaEjection::stand(int item, int64_t at) {
  stands[item].begin = at;
  stands[item].waits = false;
  if (!keepsOrder)
    return;
  insert(allByBegin, {at, item});
  insert(allByEnd, {at + stands[item].size, item});
}

void ArenaEjection::leave(int item) {
  Stand &stand = stands[item];
  if (keepsOrder) {
    erase(allByBegin, {stand.begin, item});
    erase(allByEnd, {stand.begin + stand.size, item});
  }
  stand.waits = true;
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
  if (keepsOrder)
    pickStands(neighbours[item]);
  else
    sortStands(item);
  const size_t count = byBegin.size();
  weightBefore.resize(count + 1);
  weightBefore[0] = 0;
  for (size_t i = 0; i < count; ++i)
    weightBefore[i + 1] = weightBefore[i] + stands[byBegin[i].item].weight;
}

/// In the order in which all stand.
void ArenaEjection::pickStands(const std::vector<int> &others) {
  ++turn;
  for (int other : others)
    turns[other] = turn;
  auto pick = [&](const std::vector<Edge> &all, std::vector<Edge> &picked) {
    // No branch: which items are neighbours cannot be foretold.
    picked.resize(all.size());
    size_t count = 0;
    for (Edge edge : all) {
      picked[count] = edge;
      count += turns[edge.item] == turn;
    }
    picked.resize(count);
  };
  pick(allByBegin, byBegin);
  pick(allByEnd, byEnd);
}

/// Neighbours are kept in the order in which they stood the last time; few have moved since.
void ArenaEjection::sortStands(int item) {
  const auto sort = [&](std::vector<int> &others, std::vector<Edge> &edges, auto &&placeOf) {
    edges.resize(others.size());
    for (size_t i = 0; i < others.size(); ++i)
      edges[i] = {placeOf(stands[others[i]]), others[i]};
    sortAgain(edges);
    size_t count = 0;
    for (size_t i = 0; i < others.size(); ++i) {
      const Edge edge = edges[i];
      others[i] = edge.item;
      edges[count] = edge;
      count += !stands[edge.item].waits;
    }
    edges.resize(count);
  };
  sort(neighbours[item], byBegin, [](const Stand &stand) { return stand.begin; });
  sort(neighboursByEnd[item], byEnd, [](const Stand &stand) { return stand.begin + stand.size; });
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
    leave(edge.item);
    stand.weight *= weightGrowth;
    wait(edge.item);
  }
  stand(item, at);
}

} // namespace kedge::solver
