// ArenaSearch: the skyline, its changes and how they are taken back.
#include "lib/Solver/Arena/ArenaSearch.h"
#include <algorithm>
#include <limits>

namespace kedge::solver {

bool ArenaSearch::exceeds(int section) {
  if (remaining[section] == 0 || floor[section] + remaining[section] <= height)
    return false;
  conflicts[section] += 1;
  return true;
}

void ArenaSearch::wake(int section) {
  if (isAwake[section])
    return;
  isAwake[section] = 1;
  awake.push_back(section);
}

inline void ArenaSearch::setOptions(int section, int value) {
  if (savedIn[section] != decision) {
    savedIn[section] = decision;
    trail.push_back({Change::Options, section, options[section]});
  }
  options[section] = value;
}

/// An item's base rises to `to`: sections where it stood on the floor have an option less, those whose floor
/// is `to` one more. `except` has been counted by the caller.
void ArenaSearch::lift(int item, int64_t to, int except) {
  int64_t from = base[item];
  trail.push_back({Change::Base, item, from});
  base[item] = to;
  const ArenaItem &lifted = problem.items[item];
  effort->spend(lifted.last - lifted.first + 1);
  for (int s = lifted.first; s <= lifted.last; ++s) {
    if (s == except)
      continue;
    if (floor[s] == to) {
      setOptions(s, options[s] + 1);
    } else if (floor[s] == from) {
      setOptions(s, options[s] - 1);
      if (options[s] == 0)
        wake(s);
    }
  }
}

bool ArenaSearch::raise(int section, int64_t to) {
  trail.push_back({Change::Floor, section, floor[section]});
  floor[section] = to;
  if (exceeds(section))
    return false;
  int standing = 0;
  effort->spend(static_cast<int64_t>(covering[section].size()));
  for (int item : covering[section]) {
    if (placed[item])
      continue;
    if (base[item] < to)
      lift(item, to, section);
    standing += base[item] == to;
  }
  setOptions(section, standing);
  if (standing == 0)
    wake(section);
  return true;
}

bool ArenaSearch::place(int index) {
  const ArenaItem &item = problem.items[index];
  int64_t top = base[index] + item.size;
  offset[index] = base[index];
  placed[index] = 1;
  trail.push_back({Change::Placed, index, 0});
  bool possible = true;
  for (int s = item.first; s <= item.last; ++s) {
    remaining[s] -= item.size;
    crossing[s] -= s < item.last;
    trail.push_back({Change::Floor, s, floor[s]});
    floor[s] = top;
    setOptions(s, 0);
    possible = possible && !exceeds(s);
  }
  effort->spend(item.last - item.first + 1 + static_cast<int64_t>(neighbours[index].size()));
  for (int other : neighbours[index]) {
    if (!possible)
      break;
    if (placed[other])
      continue;
    if (base[other] < top) {
      lift(other, top, -1);
    } else if (base[other] == top) {
      const ArenaItem &standing = problem.items[other];
      for (int s = std::max(item.first, standing.first); s <= std::min(item.last, standing.last); ++s)
        setOptions(s, options[s] + 1);
    }
  }
  for (int s = item.first; possible && s <= item.last; ++s)
    if (options[s] == 0)
      wake(s);
  return propagate() && possible;
}

/// Raises floors on which no item can stand any more. False where that ends the branch; the list of sections
/// to look at is empty afterwards in any case.
bool ArenaSearch::propagate() {
  bool possible = true;
  while (!awake.empty()) {
    int section = awake.back();
    awake.pop_back();
    isAwake[section] = 0;
    if (!possible || remaining[section] == 0 || options[section] > 0)
      continue;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    effort->spend(static_cast<int64_t>(covering[section].size()));
    for (int item : covering[section])
      if (!placed[item])
        lowest = std::min(lowest, base[item]);
    possible = raise(section, lowest);
  }
  return possible;
}

void ArenaSearch::undo(size_t mark) {
  effort->spend(static_cast<int64_t>(trail.size() - mark));
  for (; trail.size() > mark; trail.pop_back()) {
    const Change &change = trail.back();
    switch (change.kind) {
    case Change::Floor:
      floor[change.index] = change.old;
      break;
    case Change::Base:
      base[change.index] = change.old;
      break;
    case Change::Options:
      options[change.index] = static_cast<int>(change.old);
      break;
    case Change::Placed: {
      const ArenaItem &item = problem.items[change.index];
      placed[change.index] = 0;
      for (int s = item.first; s <= item.last; ++s) {
        remaining[s] += item.size;
        crossing[s] += s < item.last;
      }
    }
    }
  }
}

} // namespace kedge::solver
