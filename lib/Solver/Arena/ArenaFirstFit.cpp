#include "lib/Solver/Arena/ArenaFirstFit.h"
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>

namespace kedge::solver {
namespace {

class FirstFit {
public:
  FirstFit(const ArenaProblem &problem, ArenaEffort &effort) : items(problem.items), effort(effort) {}

  ArenaPlacement place(const std::vector<int> &order) {
    ArenaPlacement result;
    result.offsets.assign(items.size(), 0);
    placed.clear();
    for (int index : order)
      put(index, lowestGap(items[index]), result);
    return result;
  }

  /// Those of negative offset, in the order given, around the others.
  void fill(const std::vector<int> &order, ArenaPlacement &result) {
    placed.clear();
    for (int index : order)
      if (result.offsets[index] >= 0)
        put(index, result.offsets[index], result);
    for (int index : order)
      if (result.offsets[index] < 0)
        put(index, lowestGap(items[index]), result);
  }

private:
  void put(int index, int64_t at, ArenaPlacement &result) {
    result.offsets[index] = at;
    Placed entry{items[index].first, items[index].last, at, at + items[index].size};
    auto position = std::upper_bound(placed.begin(), placed.end(), at,
                                     [](int64_t value, const Placed &other) { return value < other.begin; });
    placed.insert(position, entry);
    result.height = std::max(result.height, entry.end);
  }

  struct Placed {
    int first, last;
    int64_t begin, end;
  };

  int64_t lowestGap(const ArenaItem &item) {
    int64_t at = 0;
    size_t looked = 0;
    for (; looked < placed.size(); ++looked) {
      const Placed &other = placed[looked];
      if (other.last < item.first || item.last < other.first)
        continue;
      if (other.begin >= at + item.size)
        break;
      at = std::max(at, other.end);
    }
    effort.spend(static_cast<int64_t>(looked) + 1);
    return at;
  }

  const std::vector<ArenaItem> &items;
  ArenaEffort &effort;
  std::vector<Placed> placed; ///< by offset
};

/// Items in the order of time, each to the lowest gap between those that live with it. Near linear in the
/// number of items, where the other orders are quadratic.
class TimeOrder {
public:
  TimeOrder(const ArenaProblem &problem, bool backward) : items(problem.items), backward(backward) {}

  ArenaPlacement place() {
    ArenaPlacement result;
    result.offsets.assign(items.size(), 0);
    std::vector<int> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return begin(a) < begin(b); });
    for (int index : order) {
      for (; !ends.empty() && ends.top().first < begin(index); ends.pop())
        release(result.offsets[ends.top().second], items[ends.top().second].size);
      result.offsets[index] = take(items[index].size);
      result.height = std::max(result.height, result.offsets[index] + items[index].size);
      ends.push({end(index), index});
    }
    return result;
  }

private:
  int begin(int index) const { return backward ? -items[index].last : items[index].first; }
  int end(int index) const { return backward ? -items[index].first : items[index].last; }

  int64_t take(int64_t size) {
    auto gap = std::find_if(gaps.begin(), gaps.end(), [&](auto &g) { return g.second - g.first >= size; });
    const auto [at, stop] = *gap;
    gaps.erase(gap);
    if (at + size < stop)
      gaps.emplace(at + size, stop);
    return at;
  }

  void release(int64_t at, int64_t size) {
    auto after = gaps.lower_bound(at);
    int64_t stop = at + size;
    if (after != gaps.end() && after->first == stop) {
      stop = after->second;
      after = gaps.erase(after);
    }
    if (after != gaps.begin() && std::prev(after)->second == at)
      std::prev(after)->second = stop;
    else
      gaps.emplace_hint(after, at, stop);
  }

  using End = std::pair<int, int>; ///< when, and of which item
  const std::vector<ArenaItem> &items;
  const bool backward;
  std::map<int64_t, int64_t> gaps{{0, std::numeric_limits<int64_t>::max()}}; ///< begin and end
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;           ///< of those that live
};

using Less = std::function<bool(const ArenaItem &, const ArenaItem &)>;

std::vector<Less> itemOrders() {
  auto length = [](const ArenaItem &item) { return item.last - item.first + 1; };
  auto area = [=](const ArenaItem &item) { return static_cast<double>(item.size) * length(item); };
  return {
      [](const ArenaItem &a, const ArenaItem &b) { return a.size > b.size; },
      [=](const ArenaItem &a, const ArenaItem &b) { return area(a) > area(b); },
      [=](const ArenaItem &a, const ArenaItem &b) { return length(a) > length(b); },
      [](const ArenaItem &a, const ArenaItem &b) { return a.first < b.first; },
      [](const ArenaItem &a, const ArenaItem &b) { return a.last > b.last; },
  };
}

std::vector<int> sortedBy(const ArenaProblem &problem, const std::function<bool(int, int)> &less) {
  std::vector<int> order(problem.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

} // namespace

ArenaPlacement firstFit(const ArenaProblem &problem, int64_t enough, ArenaEffort &effort) {
  if (problem.items.size() > mostFirstFitItems) {
    ArenaPlacement forward = TimeOrder(problem, false).place(), backward = TimeOrder(problem, true).place();
    return forward.height <= backward.height ? forward : backward;
  }
  FirstFit fit(problem, effort);
  ArenaPlacement best;
  for (const Less &less : itemOrders()) {
    std::vector<int> order =
        sortedBy(problem, [&](int a, int b) { return less(problem.items[a], problem.items[b]); });
    ArenaPlacement candidate = fit.place(order);
    if (best.offsets.empty() || candidate.height < best.height)
      best = std::move(candidate);
    if (best.height <= enough || effort.isSpent())
      break;
  }
  return best;
}

void fillGaps(const ArenaProblem &problem, ArenaEffort &effort, ArenaPlacement &placement) {
  auto area = [&](int index) {
    const ArenaItem &item = problem.items[index];
    return static_cast<double>(item.size) * (item.last - item.first + 1);
  };
  std::vector<int> order = sortedBy(problem, [&](int a, int b) { return area(a) > area(b); });
  FirstFit(problem, effort).fill(order, placement);
}

void improveFirstFit(const ArenaProblem &problem, int64_t enough, ArenaEffort &effort, ArenaRandom &random,
                     ArenaPlacement &best) {
  FirstFit fit(problem, effort);
  // Taken in the order of their offsets, items find these offsets or lower ones again.
  auto byOffset = [&](const ArenaPlacement &placement) {
    return sortedBy(problem, [&](int a, int b) { return placement.offsets[a] < placement.offsets[b]; });
  };
  ArenaPlacement current = best;
  std::vector<int> order = byOffset(current);
  while (best.height > enough && !effort.isSpent()) {
    std::vector<int> changed = order;
    for (size_t moves = 1 + random.below(3); moves > 0; --moves) {
      size_t from = random.below(changed.size());
      auto isTop = [&](int item) {
        return current.offsets[item] + problem.items[item].size == current.height;
      };
      if (random.below(2) == 0)
        from = std::find_if(changed.begin(), changed.end(), isTop) - changed.begin();
      size_t to = random.below(from + 1);
      std::rotate(changed.begin() + to, changed.begin() + from, changed.begin() + from + 1);
    }
    ArenaPlacement candidate = fit.place(changed);
    if (candidate.height > current.height)
      continue;
    order = std::move(changed);
    current = std::move(candidate);
    if (current.height < best.height)
      best = current;
  }
}

} // namespace kedge::solver
