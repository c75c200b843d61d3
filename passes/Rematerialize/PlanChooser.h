// What a function runs under a policy and a budget.
#pragma once
#include "passes/Rematerialize/Frontier.h"
#include "passes/Rematerialize/OptionWords.h"
#include "passes/Rematerialize/Policies.h"
#include "passes/Rematerialize/RecomputeChoice.h"

namespace kedge::remat {

struct PlanChooserOptions {
  Policy policy;
  bool offload = false; ///< values may go to host memory
  int64_t effort = 0;   ///< search steps; 0: by the size of the function
  int frontier = 0;     ///< points
  bool packsQuickly = false;
  PlanSearch search = PlanSearch::Whole;
};

class PlanChooser {
public:
  explicit PlanChooser(PlanChooserOptions options) : options(std::move(options)) {}

  /// `left`: transient bytes that the budget leaves; none without a budget. Throws kedge::Error where the
  /// policy cannot be followed.
  void decide(RecomputeChoice &choice, std::optional<int64_t> left);
  /// The plans of a function that no other one beats in bytes and time, with their packed bytes.
  FunctionFrontier frontierOf(RecomputeChoice &choice);

  /// Of the few layers to which equal ones were folded, once a search was needed.
  std::optional<int64_t> foldedLaunches;

private:
  using Plans = std::vector<std::vector<int>>;
  void follow(RecomputeChoice &choice, const Policy &policy, std::optional<int64_t> left);
  Plans starts(const RecomputeChoice &choice);
  const Plans &plansOf(RecomputeChoice &choice);
  void search(RecomputeChoice &choice, int64_t left);
  bool isProvenTooLarge(RecomputeChoice &choice, int64_t left) const;
  std::vector<int> smallestPlan(const RecomputeChoice &choice, Plans starts) const;
  static int64_t takeSmallestWithin(RecomputeChoice &choice, Plans plans, int64_t left);
  bool takeWithin(RecomputeChoice &choice, const Plans &plans, size_t index, int64_t left);
  void findSmallest(RecomputeChoice &choice, const Plans &plans, int64_t left, bool found);
  std::vector<const std::vector<int> *> fewOf(RecomputeChoice &choice);

  int64_t packed(const RecomputeChoice &choice, const std::vector<int> &sequence, int64_t good = 0) const;

  PlanChooserOptions options;
};

} // namespace kedge::remat
