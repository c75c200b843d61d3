// What plan and compile are told about memory.
#pragma once
#include "lib/Support/Offload.h"
#include "passes/Rematerialize/Passes.h"
#include <algorithm>
#include <optional>
#include <vector>

namespace kedge::driver {

struct MemoryOptions {
  std::optional<remat::Policy> recompute; ///< --recompute; none: see policy
  remat::ChooseRecomputeOptions plan;     ///< budgets and effort as given
  std::vector<Offload> offload;
  bool frontier = false; ///< --frontier

  /// --recompute, or what it is without: auto when there is a budget to keep.
  remat::Policy policy() const {
    return recompute.value_or(remat::Policy{plan.budget.isGiven() || frontier ? remat::Policy::Kind::Auto
                                                                              : remat::Policy::Kind::None});
  }
  bool computesAgain() const { return policy().kind != remat::Policy::Kind::None; }
  bool rematerializes() const {
    return frontier || computesAgain() || plan.budget.isGiven() || !offload.empty();
  }
  bool offloads(OffloadKind kind) const {
    return std::any_of(offload.begin(), offload.end(),
                       [&](const Offload &entry) { return entry.kind == kind; });
  }
};

} // namespace kedge::driver
