#include "lib/Solver/RematMemo.h"

namespace kedge::solver {

RematMemo &RematMemo::ofProcess() {
  static RematMemo memo;
  return memo;
}

std::vector<RematPlan> RematMemo::front(const RematProblem &problem, const RematOptions &options) {
  if (options.timeLimit > 0)
    return rematFront(problem, options);
  if (std::optional<std::vector<RematPlan>> known = find(problem, options))
    return *std::move(known);
  std::vector<RematPlan> front = rematFront(problem, options);
  const std::lock_guard lock(mutex);
  entries.push_back({problem, options, front});
  entries.back().options.progress = nullptr;
  if (entries.size() > mostEntries)
    entries.pop_front();
  return front;
}

std::optional<std::vector<RematPlan>> RematMemo::find(const RematProblem &problem,
                                                      const RematOptions &options) {
  const std::lock_guard lock(mutex);
  for (const Entry &entry : entries)
    if (entry.answers(problem, options))
      return entry.front;
  return std::nullopt;
}

/// The budget plays no part in a front.
bool RematMemo::Entry::answers(const RematProblem &other, const RematOptions &asked) const {
  return options.effort == asked.effort && options.share == asked.share && options.seed == asked.seed &&
         options.freeOrder == asked.freeOrder && options.starts == asked.starts && problem == other;
}

} // namespace kedge::solver
