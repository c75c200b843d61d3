#include "passes/Rematerialize/PlanChooser.h"
#include "lib/Solver/Arena/PackingMemo.h"
#include "lib/Support/Error.h"
#include "lib/Support/Progress.h"
#include "lib/Support/SideBySide.h"
#include "passes/Rematerialize/HostCopies.h"
#include "passes/Rematerialize/LowerPeak.h"
#include "passes/Rematerialize/PackSequence.h"
#include <limits>

namespace kedge::remat {

/// Other orders of a plan are tried where it misses the budget by a thirtieth at most, and room costs that
/// share of the time.
constexpr int64_t kWorthReordering = 30;
constexpr double kCostlyRoomShare = 0.005;

/// Gaps of that part of a plan are no reason to pack it again.
constexpr int64_t kSmallGaps = 100;
/// Of the solver's effort, where the plan is not the one that is taken in the end.
constexpr double kQuickShare = 0.25;

static bool isNear(int64_t bytes, int64_t left) { return bytes <= left + left / kWorthReordering; }

void PlanChooser::decide(RecomputeChoice &choice, std::optional<int64_t> left) {
  bool free = options.policy.kind == Policy::Kind::Auto ||
              (options.policy.kind == Policy::Kind::None && options.offload);
  if (!free && options.policy.kind != Policy::Kind::None)
    follow(choice, options.policy, left);
  else if (free && options.offload && !left)
    follow(choice, options.policy, left);
  else if (free && left && choice.bytes > *left)
    search(choice, *left);
}

int64_t PlanChooser::packed(const RecomputeChoice &choice, const std::vector<int> &sequence,
                            int64_t good) const {
  return options.packsQuickly ? quickBytes(choice.graph.problem, sequence)
                              : packedBytes(choice.graph.problem, sequence, good);
}

/// Values that the policy drops are computed again. With `offload`, other values move to host memory until
/// the budget is met or, without a budget, as long as that lowers the peak.
void PlanChooser::follow(RecomputeChoice &choice, const Policy &policy, std::optional<int64_t> left) {
  std::vector<int> sequence =
      offloadLazily(choice.graph, droppedBy(policy, choice.graph, choice.blocks), left.value_or(0));
  if (solver::peakOf(choice.graph.problem, sequence) < 0)
    fail("@{}: --recompute {}: what it drops cannot be computed again here (an update comes between)",
         choice.graph.function.getName().str(), options.policy.text());
  if (sequence != choice.graph.problem.order)
    lowerPeakByOrder(choice.graph.problem, sequence);
  choice.take(sequence, packed(choice, sequence));
  choice.smallest = choice.bytes;
}

/// The plans of the policies, and plans with copies to host memory for several budgets. The solver starts
/// from them, and each may be chosen itself.
PlanChooser::Plans PlanChooser::starts(const RecomputeChoice &choice) {
  Plans found;
  auto add = [&](std::vector<int> sequence) {
    if (solver::peakOf(choice.graph.problem, sequence) < 0 || sequence == choice.graph.problem.order)
      return;
    lowerPeakByOrder(choice.graph.problem, sequence);
    found.push_back(std::move(sequence));
  };
  using Kind = Policy::Kind;
  for (Kind kind : {Kind::Attention, Kind::Sqrt, Kind::Full, Kind::None}) {
    if (options.policy.kind == Kind::None && kind != Kind::None)
      continue;
    std::vector<bool> dropped = droppedBy({kind, 0}, choice.graph, choice.blocks);
    if (kind != Kind::None)
      add(rebuildLazily(choice.graph, dropped));
    for (int percent : {80, 60, 40, 20, 0})
      if (options.offload)
        add(offloadLazily(choice.graph, dropped, choice.peak / 100 * percent));
  }
  return found;
}

const PlanChooser::Plans &PlanChooser::plansOf(RecomputeChoice &choice) {
  if (!choice.plans.empty())
    return choice.plans;
  solver::RematOptions search;
  search.effort = options.effort;
  search.share = options.search == PlanSearch::Whole ? 1 : kQuickShare;
  search.starts = starts(choice);
  search.progress = [](double share) { tellProgress("choosing what to compute again", share); };
  choice.plans = search.starts;
  std::vector<solver::RematPlan> front = solver::RematMemo::ofProcess().front(choice.graph.problem, search);
  search.progress(1);
  foldedLaunches = foldedLaunches.value_or(0) + front.front().foldedNodes;
  for (solver::RematPlan &plan : front)
    choice.plans.push_back(std::move(plan.sequence));
  llvm::stable_sort(choice.plans,
                    [&](const auto &a, const auto &b) { return choice.addedBy(a) < choice.addedBy(b); });
  return choice.plans;
}

/// The cheapest plan of the solver's front and of the policies that fits when it is packed. All of them are
/// found without a look at the budget, so that a larger one never costs more.
void PlanChooser::search(RecomputeChoice &choice, int64_t left) {
  const bool isWhole = options.search == PlanSearch::Whole;
  if (!isWhole && isProvenTooLarge(choice, left))
    return;
  if (options.search == PlanSearch::Policies || options.search == PlanSearch::Smallest) {
    Plans plans = starts(choice);
    if (options.search == PlanSearch::Smallest)
      plans.push_back(smallestPlan(choice, plans));
    choice.smallest = std::min(choice.smallest, takeSmallestWithin(choice, std::move(plans), left));
    return;
  }
  const Plans &plans = plansOf(choice);
  bool found = false;
  for (size_t i = 0; i < plans.size() && !found; ++i)
    found = solver::peakOf(choice.graph.problem, plans[i]) <= left && takeWithin(choice, plans, i, left);
  // What a search for small plans alone finds fits for all that ask.
  if (!found) {
    choice.plans.push_back(smallestPlan(choice, starts(choice)));
    found = takeSmallestWithin(choice, {choice.plans.back()}, left) <= left;
  }
  findSmallest(choice, plans, left, found);
  if (!isWhole)
    return;
  solver::RematPlan bound = solver::rematBound(choice.graph.problem, found ? left : choice.bytes, true);
  choice.lowerBound = std::min(bound.lowerBound, choice.added);
  choice.peakLowerBound = bound.peakLowerBound;
}

/// The plan of the function's own order stays, which does not fit.
bool PlanChooser::isProvenTooLarge(RecomputeChoice &choice, int64_t left) const {
  choice.peakLowerBound = solver::rematBound(choice.graph.problem, /*budget=*/0, true).peakLowerBound;
  return choice.peakLowerBound > left;
}

std::vector<int> PlanChooser::smallestPlan(const RecomputeChoice &choice, Plans starts) const {
  solver::RematOptions search;
  search.effort = options.effort;
  search.starts = std::move(starts);
  return solver::RematMemo::ofProcess().smallest(choice.graph.problem, search).sequence;
}

/// The one of the smallest peak that fits when it is packed. Returns the bytes of the smallest of those that
/// were packed.
int64_t PlanChooser::takeSmallestWithin(RecomputeChoice &choice, Plans plans, int64_t left) {
  std::vector<std::pair<int64_t, std::vector<int>>> byPeak;
  for (std::vector<int> &plan : plans)
    byPeak.push_back({solver::peakOf(choice.graph.problem, plan), std::move(plan)});
  llvm::sort(byPeak);
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (auto &[peak, plan] : byPeak) {
    int64_t bytes = quickBytes(choice.graph.problem, plan);
    if (bytes > left && peak <= left && isNear(bytes, left))
      bytes = std::min(bytes, quickBytes(choice.graph.problem, plan, solver::PackingMemo::closer));
    smallest = std::min(smallest, bytes);
    if (bytes <= left)
      choice.take(plan, bytes);
    if (bytes <= left || peak > left)
      break; // those that follow are larger
  }
  return smallest;
}

/// What the next plan costs more whose values leave a fiftieth of the bytes free; 0 where there is none, so
/// that a smallest feasible budget is the same for all that ask.
static double costOfRoom(const RecomputeChoice &choice, const std::vector<std::vector<int>> &plans,
                         size_t index, int64_t left) {
  for (size_t next = index + 1; next < plans.size(); ++next)
    if (solver::peakOf(choice.graph.problem, plans[next]) <= left - left / 50)
      return choice.addedBy(plans[next]) - choice.addedBy(plans[index]);
  return 0;
}

/// Where the packer cannot place a plan, and one with room to spare costs much more, other orders of it are
/// tried.
bool PlanChooser::takeWithin(RecomputeChoice &choice, const Plans &plans, size_t index, int64_t left) {
  const solver::RematProblem &problem = choice.graph.problem;
  int64_t bytes = quickBytes(problem, plans[index]);
  if (bytes > left && isNear(bytes, left) && !options.packsQuickly)
    bytes = std::min(bytes, quickBytes(problem, plans[index], solver::PackingMemo::closer));
  if (bytes <= left) {
    choice.take(plans[index], bytes);
    return true;
  }
  if (!isNear(bytes, left) || options.search != PlanSearch::Whole ||
      costOfRoom(choice, plans, index, left) <= choice.seconds * kCostlyRoomShare)
    return false;
  std::optional<PackedSequence> other = orderWithin(problem, plans[index], left);
  if (other)
    choice.take(other->sequence, other->bytes);
  return other.has_value();
}

/// The plan of the smallest peak need not be the smallest when it is packed. Others that could be smaller
/// by at least a ten-thousandth are packed, too. The smallest gets more of the packer's effort, where nothing
/// fits and its gaps are large.
void PlanChooser::findSmallest(RecomputeChoice &choice, const Plans &plans, int64_t left, bool found) {
  std::vector<std::pair<int64_t, size_t>> byPeak;
  for (size_t i = 0; i < plans.size(); ++i)
    byPeak.push_back({solver::peakOf(choice.graph.problem, plans[i]), i});
  llvm::sort(byPeak);
  byPeak.resize(std::min<size_t>(byPeak.size(), 8));
  choice.smallest = std::min(choice.smallest, choice.bytes);
  std::optional<size_t> smallest;
  for (auto [peak, i] : byPeak) {
    if (peak >= choice.smallest - choice.smallest / 10000)
      break;
    if (const int64_t bytes = quickBytes(choice.graph.problem, plans[i]); bytes < choice.smallest) {
      choice.smallest = bytes;
      smallest = i;
    }
  }
  if (found || !smallest)
    return;
  const int64_t peak = solver::peakOf(choice.graph.problem, plans[*smallest]);
  const int64_t good = peak <= left ? left : peak + peak / kSmallGaps;
  choice.smallest = std::min(choice.smallest, packed(choice, plans[*smallest], good));
  choice.take(plans[*smallest], choice.smallest);
}

FunctionFrontier PlanChooser::frontierOf(RecomputeChoice &choice) {
  FunctionFrontier function;
  const bool counts = choice.trains();
  if (counts)
    function.bound = solver::rematBounds(choice.graph.problem, /*freeOrder=*/true);
  const std::vector<const std::vector<int> *> few = fewOf(choice);
  function.plans.resize(1 + few.size(), {choice.unconstrained, 0});
  sideBySide(few.size(), [&](size_t i) {
    const int64_t peak = solver::peakOf(choice.graph.problem, *few[i]);
    function.plans[1 + i] = {packed(choice, *few[i], /*good=*/peak + peak / kSmallGaps),
                             counts ? choice.addedBy(*few[i]) : 0};
  });
  return function;
}

/// Of the plans that no other one beats, as many as there are points, at even distances in bytes: packing
/// all would take long.
std::vector<const std::vector<int> *> PlanChooser::fewOf(RecomputeChoice &choice) {
  std::vector<std::pair<int64_t, const std::vector<int> *>> best;
  for (const std::vector<int> &plan : plansOf(choice))
    if (int64_t peak = solver::peakOf(choice.graph.problem, plan); best.empty() || peak < best.back().first)
      best.push_back({peak, &plan});
  std::vector<const std::vector<int> *> few;
  for (int k = 0; k < options.frontier && !best.empty(); ++k) {
    const int64_t wanted =
        best.front().first - (best.front().first - best.back().first) / std::max(options.frontier - 1, 1) * k;
    const auto nearest = llvm::min_element(best, [&](const auto &a, const auto &b) {
      return std::abs(a.first - wanted) < std::abs(b.first - wanted);
    });
    const std::vector<int> *plan = k + 1 == options.frontier ? best.back().second : nearest->second;
    if (few.empty() || few.back() != plan)
      few.push_back(plan);
  }
  return few;
}

} // namespace kedge::remat
