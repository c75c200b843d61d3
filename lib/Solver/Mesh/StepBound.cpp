#include "lib/Solver/Mesh/StepBound.h"
#include <algorithm>
#include <bit>
#include <cstdint>

namespace kedge::solver {
namespace {

using Edges = std::vector<std::vector<int>>;

/// A set of tasks.
class Tasks {
public:
  explicit Tasks(size_t count) : words((count + kBits - 1) / kBits) {}

  bool operator[](size_t task) const { return (words[task / kBits] >> task % kBits & 1) != 0; }
  void insert(size_t task) { words[task / kBits] |= uint64_t(1) << task % kBits; }

  /// The sum of what `seconds` has for those that are in both sets.
  friend double sumOfBoth(const Tasks &some, const Tasks &others, const std::vector<double> &seconds) {
    double sum = 0;
    for (size_t at = 0; at < some.words.size(); ++at)
      for (uint64_t both = some.words[at] & others.words[at]; both != 0; both &= both - 1)
        sum += seconds[at * kBits + static_cast<size_t>(std::countr_zero(both))];
    return sum;
  }

private:
  static constexpr size_t kBits = 64;
  std::vector<uint64_t> words;
};

/// A chain of tasks that follow each other, or what is known of it: what computes on it, and what sends.
struct Chain {
  double computing = 0, sending = 0;
  double sum() const { return computing + sending; }
};

struct Sending {
  size_t task;
  Tasks before, behind; ///< what must be done before it; what must wait for it
  Chain head, tail;     ///< the longest known chains there
};

Tasks reachableFrom(size_t task, const Edges &edges) {
  Tasks reached(edges.size());
  std::vector<size_t> open{task};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    for (int next : edges[at])
      if (!reached[static_cast<size_t>(next)]) {
        reached.insert(static_cast<size_t>(next));
        open.push_back(static_cast<size_t>(next));
      }
  }
  return reached;
}

/// Longer chains lead through another collective: through one of so many that are near.
constexpr size_t kNear = 4;

Chain headOf(size_t at, const std::vector<Sending> &sendings, const std::vector<StepTask> &tasks,
             const std::vector<double> &computing) {
  const Sending &own = sendings[at];
  Chain best{sumOfBoth(own.before, own.before, computing), 0};
  for (size_t near = at, tried = 0; near-- > 0 && tried < kNear;) {
    const Sending &other = sendings[near];
    if (!own.before[other.task])
      continue;
    ++tried;
    const Chain through{other.head.computing + sumOfBoth(other.behind, own.before, computing),
                        other.head.sending + tasks[other.task].seconds};
    best = through.sum() > best.sum() ? through : best;
  }
  return best;
}

Chain tailOf(size_t at, const std::vector<Sending> &sendings, const std::vector<StepTask> &tasks,
             const std::vector<double> &computing) {
  const Sending &own = sendings[at];
  Chain best{sumOfBoth(own.behind, own.behind, computing), 0};
  for (size_t near = at + 1, tried = 0; near < sendings.size() && tried < kNear; ++near) {
    const Sending &other = sendings[near];
    if (!own.behind[other.task])
      continue;
    ++tried;
    const Chain through{sumOfBoth(own.behind, other.before, computing) + other.tail.computing,
                        tasks[other.task].seconds + other.tail.sending};
    best = through.sum() > best.sum() ? through : best;
  }
  return best;
}

std::vector<Sending> sendingsOf(const std::vector<StepTask> &tasks) {
  Edges before(tasks.size()), behind(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i)
    for (int needed : tasks[i].after) {
      before[i].push_back(needed);
      behind[static_cast<size_t>(needed)].push_back(static_cast<int>(i));
    }
  std::vector<double> computing; ///< by task; none of those that send
  for (const StepTask &task : tasks)
    computing.push_back(task.sends ? 0 : task.seconds);
  std::vector<Sending> list;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].sends)
      list.push_back({i, reachableFrom(i, before), reachableFrom(i, behind), {}, {}});
  for (size_t at = 0; at < list.size(); ++at)
    list[at].head = headOf(at, list, tasks, computing);
  for (size_t at = list.size(); at-- > 0;)
    list[at].tail = tailOf(at, list, tasks, computing);
  return list;
}

double computingOf(const std::vector<StepTask> &tasks) {
  double seconds = 0;
  for (const StepTask &task : tasks)
    seconds += task.sends ? 0 : task.seconds;
  return seconds;
}

} // namespace

StepChain longestChain(const std::vector<StepTask> &tasks) {
  const double all = computingOf(tasks);
  StepChain best{0, all};
  for (const Sending &one : sendingsOf(tasks)) {
    const StepChain chain{one.head.sending + tasks[one.task].seconds + one.tail.sending,
                          all - one.head.computing - one.tail.computing};
    best = chain.sending - chain.besides > best.sending - best.besides ? chain : best;
  }
  return best;
}

double stepLowerBound(const std::vector<StepTask> &tasks) {
  double bound = computingOf(tasks);
  std::vector<Sending> sendings = sendingsOf(tasks);
  std::sort(sendings.begin(), sendings.end(),
            [](const Sending &a, const Sending &b) { return a.tail.sum() > b.tail.sum(); });
  // Of those with at least this head: each set of the longest tails.
  for (const Sending &first : sendings) {
    double seconds = 0;
    for (const Sending &other : sendings)
      if (other.head.sum() >= first.head.sum()) {
        seconds += tasks[other.task].seconds;
        bound = std::max(bound, first.head.sum() + seconds + other.tail.sum());
      }
  }
  return bound;
}

} // namespace kedge::solver
