#include "lib/Solver/Arena/ArenaSearch.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace kedge::solver {

constexpr size_t longestTrail = 16'000'000; // 256 MB

ArenaSearch::ArenaSearch(const ArenaProblem &problem, uint64_t seed)
    : problem(problem), covering(problem.sections), neighbours(problem.items.size()), random(seed),
      conflicts(problem.sections) {
  std::vector<std::vector<int>> starting(problem.sections);
  for (int i = 0; i < static_cast<int>(problem.items.size()); ++i) {
    starting[problem.items[i].first].push_back(i);
    for (int s = problem.items[i].first; s <= problem.items[i].last; ++s)
      covering[s].push_back(i);
  }
  for (int s = 0; s < problem.sections; ++s)
    for (int item : starting[s])
      for (int other : covering[s])
        if (problem.items[other].first < s || other < item) {
          neighbours[item].push_back(other);
          neighbours[other].push_back(item);
        }
}

ArenaSearch::Outcome ArenaSearch::run(int64_t limit, int round, int64_t maximalNodes,
                                      ArenaEffort &available) {
  height = limit;
  nodes = 0;
  nodeLimit = maximalNodes;
  effort = &available;
  gaveUp = false;
  reset();
  chooseRule(round);
  choosePriorities(round);
  for (double &weight : conflicts)
    weight *= 0.9;
  for (int s = 0; s < problem.sections; ++s)
    if (exceeds(s))
      return Outcome::Infeasible;
  if (solve(0, problem.sections - 1)) {
    ++successes[static_cast<int>(rule)];
    return Outcome::Found;
  }
  return gaveUp ? Outcome::GaveUp : Outcome::Infeasible;
}

ArenaPlacement ArenaSearch::placement() const {
  ArenaPlacement result{offset, 0};
  for (size_t i = 0; i < offset.size(); ++i)
    result.height = std::max(result.height, offset[i] + problem.items[i].size);
  return result;
}

void ArenaSearch::reset() {
  size_t count = problem.items.size(), sections = problem.sections;
  floor.assign(sections, 0);
  remaining.assign(sections, 0);
  options.assign(sections, 0);
  crossing.assign(sections, 0);
  base.assign(count, 0);
  offset.assign(count, 0);
  placed.assign(count, 0);
  isAwake.assign(sections, 0);
  awake.clear();
  trail.clear();
  savedIn.assign(sections, 0);
  decision = 0;
  for (const ArenaItem &item : problem.items)
    for (int s = item.first; s <= item.last; ++s) {
      remaining[s] += item.size;
      ++options[s];
      crossing[s] += s < item.last;
    }
}

/// The first rounds pair each rule with each priority; then rules that found packings come more often.
void ArenaSearch::chooseRule(int round) {
  int chosen = (round + round / ruleCount) % ruleCount;
  if (round >= roundsInTurn) {
    size_t at = random.below(std::accumulate(successes.begin(), successes.end(), size_t(ruleCount)));
    for (chosen = 0; at >= 1 + successes[chosen]; ++chosen)
      at -= 1 + successes[chosen];
  }
  rule = static_cast<Rule>(chosen);
}

/// Which item is tried first: the large ones, in one of four senses; from the second turn on with noise.
void ArenaSearch::choosePriorities(int round) {
  priority.resize(problem.items.size());
  for (size_t i = 0; i < priority.size(); ++i) {
    const ArenaItem &item = problem.items[i];
    double length = item.last - item.first + 1, size = static_cast<double>(item.size);
    double large[] = {size * length, length + size / (size + 1e6), size * std::sqrt(length), size};
    double noise = round < roundsInTurn ? 1 : 0.4 + random.unit();
    priority[i] = large[round % 4] * noise;
  }
}

bool ArenaSearch::solve(int first, int last) {
  std::vector<std::pair<int, int>> parts; // that no item left connects
  for (int s = first, start = -1; s <= last; ++s) {
    if (remaining[s] == 0)
      continue;
    start = start < 0 ? s : start;
    if (crossing[s] == 0) {
      parts.push_back({start, s});
      start = -1;
    }
  }
  if (parts.empty())
    return true;
  if (parts.size() > 1)
    return std::all_of(parts.begin(), parts.end(), [&](auto part) { return solve(part.first, part.second); });
  effort->spend(3 * (last - first + 1));
  if (++nodes > nodeLimit || trail.size() > longestTrail || effort->isSpent()) {
    gaveUp = true;
    return false;
  }
  std::tie(first, last) = parts.front();
  return solveSection(chooseSection(first, last), first, last);
}

bool ArenaSearch::solveAfter(bool possible, size_t mark, int first, int last) {
  if (possible && solve(first, last))
    return true;
  undo(mark);
  return false;
}

bool ArenaSearch::solveSection(int section, int first, int last) {
  std::vector<int> items = candidates(section);
  size_t mark = trail.size();
  for (size_t i = 0; i < items.size(); ++i) {
    if (isRepeated(items, i))
      continue;
    ++decision;
    if (solveAfter(place(items[i]), mark, first, last))
      return true;
    if (gaveUp)
      return false;
  }
  if (floor[section] + remaining[section] >= height)
    return false;
  int64_t next = nextHeight(section);
  if (next + remaining[section] > height)
    return false;
  ++decision;
  bool possible = raise(section, next);
  return solveAfter(propagate() && possible, mark, first, last);
}

int ArenaSearch::chooseSection(int first, int last) const {
  int best = -1;
  double bestScore = std::numeric_limits<double>::infinity();
  for (int start = first, end; start <= last; start = end + 1) {
    end = start;
    while (end < last && floor[end + 1] == floor[start])
      ++end;
    bool isValley =
        (start == first || floor[start - 1] > floor[start]) && (end == last || floor[end + 1] > floor[start]);
    for (int s = start; isValley && s <= end; ++s)
      if (double value = score(s); best < 0 || value < bestScore) {
        best = s;
        bestScore = value;
      }
  }
  return best;
}

/// The lowest score is decided first.
double ArenaSearch::score(int section) const {
  int64_t slack = height - floor[section] - remaining[section];
  double relative = static_cast<double>(slack) / static_cast<double>(height);
  double branches = options[section] + (slack > 0 ? 0.5 + 5 * relative : 0);
  switch (rule) {
  case Rule::Constrained:
    return branches / (1 + conflicts[section]);
  case Rule::Lowest:
    return static_cast<double>(floor[section]) * 1e3 + branches;
  case Rule::FewestOptions:
    return branches * 1e5 + static_cast<double>(slack);
  case Rule::Tightest:
    return static_cast<double>(slack) * 1e3 + branches;
  }
  return 0;
}

std::vector<int> ArenaSearch::candidates(int section) const {
  std::vector<int> items;
  effort->spend(static_cast<int64_t>(covering[section].size()));
  for (int item : covering[section])
    if (!placed[item] && base[item] == floor[section])
      items.push_back(item);
  std::stable_sort(items.begin(), items.end(), [&](int a, int b) { return priority[a] > priority[b]; });
  return items;
}

/// Whether an earlier candidate has the same sections and size: exchanging them gives the same packings.
bool ArenaSearch::isRepeated(const std::vector<int> &items, size_t position) const {
  const ArenaItem &item = problem.items[items[position]];
  return std::any_of(items.begin(), items.begin() + position, [&](int earlier) {
    const ArenaItem &other = problem.items[earlier];
    return other.first == item.first && other.last == item.last && other.size == item.size;
  });
}

/// Where the lowest item can stand in a section in which nothing stands on the floor: on its base, when that
/// is higher, else on an item that is still to be placed beside the section.
int64_t ArenaSearch::nextHeight(int section) {
  int64_t next = std::numeric_limits<int64_t>::max();
  for (int item : covering[section]) {
    if (placed[item])
      continue;
    if (base[item] > floor[section]) {
      next = std::min(next, base[item]);
      continue;
    }
    effort->spend(static_cast<int64_t>(neighbours[item].size()));
    for (int other : neighbours[item]) {
      const ArenaItem &support = problem.items[other];
      if (!placed[other] && (support.last < section || section < support.first))
        next = std::min(next, base[other] + support.size);
    }
  }
  return std::min(next, height + 1);
}

} // namespace kedge::solver
