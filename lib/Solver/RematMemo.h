// Fronts by what was asked for: a plan of a size that was looked for is planned again when it is shown.
#pragma once
#include "lib/Solver/Remat/Rematerialization.h"
#include <deque>
#include <mutex>
#include <optional>

namespace kedge::solver {

/// Of a process. For several threads at once.
class RematMemo {
public:
  static RematMemo &ofProcess();

  /// As rematFront; the last few are kept. With a time limit each call searches.
  std::vector<RematPlan> front(const RematProblem &problem, const RematOptions &options);

private:
  struct Entry {
    RematProblem problem;
    RematOptions options;
    std::vector<RematPlan> front;
    bool answers(const RematProblem &problem, const RematOptions &options) const;
  };
  std::optional<std::vector<RematPlan>> find(const RematProblem &problem, const RematOptions &options);

  static constexpr size_t mostEntries = 6;

  std::mutex mutex;
  std::deque<Entry> entries;
};

} // namespace kedge::solver
