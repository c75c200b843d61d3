#include "lib/Solver/Mesh/StepBound.h"
#include <algorithm>
#include <utility>

namespace kedge::solver {
namespace {

using Edges = std::vector<std::vector<int>>;

/// Seconds of computing among all that `from` leads to.
double computingBeyond(const std::vector<StepTask> &tasks, const Edges &edges, int from,
                       std::vector<int> &seen) {
  double seconds = 0;
  std::vector<int> open{from};
  while (!open.empty()) {
    const int task = open.back();
    open.pop_back();
    for (int next : edges[static_cast<size_t>(task)])
      if (std::exchange(seen[static_cast<size_t>(next)], from) != from) {
        seconds += tasks[static_cast<size_t>(next)].sends ? 0 : tasks[static_cast<size_t>(next)].seconds;
        open.push_back(next);
      }
  }
  return seconds;
}

struct Sending {
  double head, seconds, tail;
};

std::vector<Sending> sendingsOf(const std::vector<StepTask> &tasks) {
  Edges before(tasks.size()), behind(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i)
    for (int needed : tasks[i].after) {
      before[i].push_back(needed);
      behind[static_cast<size_t>(needed)].push_back(static_cast<int>(i));
    }
  std::vector<Sending> list;
  std::vector<int> seenBefore(tasks.size(), -1), seenBehind(tasks.size(), -1);
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].sends)
      list.push_back({computingBeyond(tasks, before, static_cast<int>(i), seenBefore), tasks[i].seconds,
                      computingBeyond(tasks, behind, static_cast<int>(i), seenBehind)});
  return list;
}

} // namespace

double stepLowerBound(const std::vector<StepTask> &tasks) {
  double bound = 0;
  for (const StepTask &task : tasks)
    bound += task.sends ? 0 : task.seconds;
  std::vector<Sending> sendings = sendingsOf(tasks);
  std::sort(sendings.begin(), sendings.end(),
            [](const Sending &a, const Sending &b) { return a.tail > b.tail; });
  // Of those with at least this head: each set of the longest tails.
  for (const Sending &first : sendings) {
    double seconds = 0;
    for (const Sending &other : sendings)
      if (other.head >= first.head) {
        seconds += other.seconds;
        bound = std::max(bound, first.head + seconds + other.tail);
      }
  }
  return bound;
}

} // namespace kedge::solver
