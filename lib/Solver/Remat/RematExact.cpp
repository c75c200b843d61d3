#include "lib/Solver/Remat/RematExact.h"
#include "lib/Solver/Remat/RematStateBound.h"
#include "lib/Solver/Remat/RematUses.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <unordered_map>

namespace kedge::solver {
namespace {

constexpr size_t mostEntries = 1'000'000; ///< about 200 MB
constexpr int64_t workPerEntry = 500;
/// Moments whose bound at the last good price is below that share of the bound at hand are not looked at
/// further.
constexpr double promising = 0.97;
/// Moments that have raised no bound in so many states are left out.
constexpr int looksInVain = 500;
/// After an eighth of the effort the search ends unless it has closed that share of the gap.
constexpr double shareToGoOn = 0.5;

struct Hash {
  size_t operator()(const RematState &state) const {
    uint64_t hash = static_cast<uint64_t>(state.next);
    for (uint64_t word : state.held.words) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 29;
    }
    return static_cast<size_t>(hash);
  }
};

/// Best first. A transition is one run, together with dropping just as much as that run needs room for.
/// Dropping more, or earlier, is never better: a state with more values has all plans of one with fewer.
class StateSearch {
public:
  StateSearch(const RematChain &chain, int64_t budget, double enough, const RematProofLimits &limits)
      : chain(chain), bound(chain, budget), budget(budget), enough(enough), limits(limits),
        limit(chain.grid > 0 ? enough - 1e-3 * chain.grid : enough * (1 - 1e-9)), looks(chain.size),
        raised(chain.size), closed(chain.size + 1), bySize(chain.size) {
    std::iota(bySize.begin(), bySize.end(), 0);
    std::stable_sort(bySize.begin(), bySize.end(),
                     [&](int a, int b) { return chain.bytes[a] > chain.bytes[b]; });
  }

  double run() {
    if (!(limit > 0) || !start())
      return std::max(0.0, enough);
    while (!open.empty()) {
      Entry entry = entries[open.top().index];
      int index = open.top().index;
      double proven = entry.bound;
      if (entry.state.next == chain.size || stopped(proven))
        return proven;
      open.pop();
      if (entry.running >= 0)
        drop(entry);
      else if (!outdone(entry) && refine(entry, index))
        expand(entry);
    }
    return enough;
  }

private:
  struct Entry {
    RematState state;
    double cost, bound;
    int moment;       ///< at which the bound was found
    int running = -1; ///< the node for which values are being dropped
    int dropFrom = 0; ///< place in bySize: values before it that are there stay
    int64_t over = 0; ///< bytes still to be dropped
    bool refined = false;
  };
  struct Candidate {
    double bound;
    int progress, index;
    bool operator<(const Candidate &other) const {
      if (bound != other.bound)
        return bound > other.bound;
      return progress != other.progress ? progress < other.progress : index < other.index;
    }
  };

  bool stopped(double proven) const {
    int64_t work = bound.work() + workPerEntry * made;
    bool slow = proven - firstBound < shareToGoOn * (enough - firstBound);
    return work > (slow ? limits.effort / 8 : limits.effort) || entries.size() >= mostEntries ||
           (limits.outOfTime && limits.outOfTime());
  }

  /// Every plan comes to the first run that is hardest, and holds no more there than all that was made.
  bool start() {
    std::vector<std::pair<double, int>> found;
    for (int moment = 0; moment < chain.size; ++moment)
      found.push_back({bound.best({}, moment, enough), moment});
    std::stable_sort(found.begin(), found.end(), [](auto a, auto b) { return a.first > b.first; });
    for (auto [value, moment] : found)
      moments.push_back(moment);
    RematState all{moments.front(), {}};
    for (int value = 0; value < all.next; ++value)
      all.held.add(value);
    firstBound = rounded(found.front().first);
    reach(all, 0, firstBound, all.next);
    return !open.empty();
  }

  double rounded(double cost) const {
    cost = std::max(0.0, cost * (1 - 1e-9));
    return chain.grid > 0 ? chain.grid * std::ceil(cost / chain.grid - 1e-6) : cost;
  }

  void push(Entry entry) {
    if (entry.bound >= limit)
      return;
    open.push({entry.bound, 2 * entry.state.next + (entry.running < 0), static_cast<int>(entries.size())});
    entries.push_back(entry);
  }

  void reach(RematState state, double cost, double atLeast, int moment) {
    ++made;
    RematUses uses(chain, state, cost, limit);
    if (uses.hopeless())
      return;
    state.held = state.held & uses.useful;
    auto [at, isNew] = costOf.emplace(state, cost);
    if (!isNew && at->second <= cost)
      return;
    at->second = cost;
    Entry entry{state, cost, std::max(atLeast, rounded(uses.total)), moment};
    if (moment >= state.next && state.next < chain.size)
      entry.bound = std::max(entry.bound, rounded(cost + bound.quick(state, moment)));
    push(entry);
  }

  /// Whether another state has as much at no more cost.
  bool outdone(const Entry &entry) const {
    if (costOf.at(entry.state) < entry.cost)
      return true;
    for (const auto &[held, cost] : closed[entry.state.next])
      if (cost <= entry.cost && !(held == entry.state.held) && held.covers(entry.state.held))
        return true;
    return false;
  }

  /// Looks at all moments once. False where the state has to wait for its turn again.
  bool refine(Entry &entry, int index) {
    double before = entry.bound;
    if (!entry.refined)
      for (int moment : moments)
        if (moment >= entry.state.next && entry.bound < limit)
          refineAt(entry, moment);
    entry.refined = true;
    entries[index] = entry;
    if (entry.bound > before && entry.bound < limit)
      open.push({entry.bound, 2 * entry.state.next + 1, index});
    return entry.bound == before;
  }

  void refineAt(Entry &entry, int moment) {
    if (!raised[moment] && ++looks[moment] > looksInVain)
      return;
    if (bound.hasPrice(moment) && entry.cost + bound.quick(entry.state, moment) < promising * entry.bound)
      return;
    double value = rounded(entry.cost + bound.best(entry.state, moment, limit - entry.cost));
    if (value > entry.bound) {
      entry.bound = value;
      entry.moment = moment;
      raised[moment] = true;
    }
  }

  void expand(const Entry &entry) {
    closed[entry.state.next].push_back({entry.state.held, entry.cost});
    int64_t held = 0;
    entry.state.held.each([&](int value) { held += chain.bytes[value]; });
    std::vector<int> runs = RematUses(chain, entry.state, entry.cost, limit).worthRunning;
    runs.push_back(entry.state.next);
    for (int node : runs) {
      if (!entry.state.held.covers(chain.inputSet[node]))
        continue;
      Entry step = entry;
      step.running = node;
      step.over = held + chain.bytes[node] + chain.workspace[node] - budget;
      if (step.over <= 0)
        finish(step);
      else
        drop(step);
    }
  }

  /// Drops one more value, each in turn, the larger ones first.
  void drop(const Entry &entry) {
    bool first = entry.running == entry.state.next;
    RematValueSet kept;
    for (int place = 0; place < chain.size; ++place) {
      int value = bySize[place];
      if (!entry.state.held.has(value) || chain.inputSet[entry.running].has(value))
        continue;
      if (place >= entry.dropFrom) {
        Entry next = entry;
        next.state.held.remove(value);
        next.over -= chain.bytes[value];
        next.dropFrom = place + 1;
        next.over <= 0 ? finish(next) : wait(next, first ? kept : RematValueSet());
      }
      kept.add(value);
    }
  }

  /// More has to be dropped: `kept` stays for the run at hand.
  void wait(Entry &entry, const RematValueSet &kept) {
    ++made;
    int64_t rest = 0;
    for (int place = entry.dropFrom; place < chain.size; ++place)
      if (entry.state.held.has(bySize[place]) && !chain.inputSet[entry.running].has(bySize[place]))
        rest += chain.bytes[bySize[place]];
    if (rest < entry.over)
      return;
    if (entry.moment >= entry.state.next) {
      bool now = entry.moment == entry.state.next;
      double value = bound.quick(entry.state, entry.moment, now ? kept : RematValueSet());
      entry.bound = std::max(entry.bound, rounded(entry.cost + value));
    }
    entry.refined = false;
    push(entry);
  }

  void finish(const Entry &entry) {
    RematState state = entry.state;
    bool first = entry.running == state.next;
    state.held.add(entry.running);
    state.next += first;
    reach(state, entry.cost + (first ? 0 : chain.cost[entry.running]), entry.bound, entry.moment);
  }

  const RematChain &chain;
  RematStateBound bound;
  int64_t budget;
  double enough;
  const RematProofLimits &limits;
  int64_t made = 0;
  double firstBound = 0;
  double limit;           ///< plans that cost that much are of no interest
  std::vector<int> looks; ///< at a moment, without raising a bound
  std::vector<char> raised;
  std::vector<int> moments; ///< those first that promise most
  std::vector<Entry> entries;
  std::priority_queue<Candidate> open;
  std::unordered_map<RematState, double, Hash> costOf;
  std::vector<std::vector<std::pair<RematValueSet, double>>> closed; ///< by `next`
  std::vector<int> bySize;
};

} // namespace

double proveRemat(const RematChain &chain, int64_t budget, double enough, const RematProofLimits &limits) {
  return StateSearch(chain, budget, enough, limits).run();
}

} // namespace kedge::solver
