#include "driver/BudgetCheck.h"
#include "driver/options/ProgramOptions.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/Reservations.h"
#include "lib/Export/Plan/HostMemory.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Reporter.h"
#include "runtime/exec/Executor.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// What kedge-choose-recompute noted; null where it has not run.
sched::RecomputeAttr recomputation(ModuleOp module) {
  return sched::RecomputeNote(module.getContext()).getAttr(module);
}

} // namespace

/// Says which flags change nothing in this step.
void BudgetCheck::noteWithoutEffect() const {
  if (options.isTrial())
    return;
  // With --accumulate 1 there are no accumulators: gradients are values that end with their update.
  if (options.memory.offloads(OffloadKind::Gradients) && options.accumulate == 1)
    note("--offload gradients: without --accumulate no gradient outlives its update: nothing to offload");
  const remat::Policy policy = options.memory.policy();
  if (const auto known = recomputation(module); known && known.getOps().getInt() == 0 &&
                                                options.memory.computesAgain() &&
                                                policy.kind != remat::Policy::Kind::Auto)
    note("--recompute {} finds nothing to compute again in this model: it equals none", policy.text());
}

/// What kedge-choose-recompute foresees is what is packed in the end.
void BudgetCheck::check() const {
  if (!options.memory.plan.budget.isGiven() || !fitsDevice())
    return;
  const int64_t budget = recomputation(module).getBudgetBytes().getInt();
  int64_t bytes = analysis::sumOf(analysis::reservationsOf(module, rt::physicalCores()));
  for (auto arena : module.getOps<exec::ArenaOp>())
    bytes += arena.getBytes();
  if (bytes > budget)
    fail("{}: not compiled: the plan takes {} bytes, above the memory budget of {}, which what is computed "
         "again was to "
         "keep",
         options.model.model, bytes, budget);
}

int64_t BudgetCheck::hostBytes() const { return exporter::hostBytes(module); }

bool BudgetCheck::fitsDevice() const {
  const sched::RecomputeAttr known = recomputation(module);
  return !known || known.getFits().getValue();
}

bool BudgetCheck::fits() const {
  const int64_t limit = options.memory.plan.hostBudget;
  return fitsDevice() && (limit == 0 || hostBytes() <= limit);
}

std::optional<BudgetCheck::Needs> BudgetCheck::needs() const {
  const sched::RecomputeAttr known = recomputation(module);
  if (!known || !known.getBudgetBytes())
    return std::nullopt;
  const int64_t held =
      known.getUnconstrainedPeakBytes().getInt() - known.getUnconstrainedTransientBytes().getInt();
  return Needs{known.getBudgetBytes().getInt(), held, known.getSmallestFeasibleBytes().getInt()};
}

void BudgetCheck::sayWhyNothingFits(const std::string &remedies, const std::string &where) const {
  const std::string text = where + whyNothingFits(remedies);
  reporter().sayTogether("kedge: " + text, {{Severity::Error, text, "", ""}});
}

std::string BudgetCheck::whyNothingFits(const std::string &remedies) const {
  if (fitsDevice())
    return whyHostDoesNotFit(remedies);
  const sched::RecomputeAttr known = recomputation(module);
  const int64_t budget = known.getBudgetBytes().getInt();
  std::string text = fmt::format("{}: no plan found within the memory budget of {} bytes ({})\n",
                                 options.model.model, budget, formatBytes(budget));
  text += "largest values at the peak of the smallest plan:\n";
  for (const auto &[name, bytes] : exporter::largestAtPeak(module, 8))
    text += fmt::format("  {:>12}  {}\n", formatBytes(bytes), name);
  text += remedies +
          fmt::format("proven: no plan needs less than {} bytes\n", known.getProvenFloorBytes().getInt());
  text += fmt::format("smallest feasible budget: {} bytes\n", known.getSmallestFeasibleBytes().getInt());
  return text;
}

/// Values go to host memory as far as it has room; states are what they are.
std::string BudgetCheck::whyHostDoesNotFit(const std::string &remedies) const {
  const int64_t limit = options.memory.plan.hostBudget;
  std::string text =
      fmt::format("{}: what --offload puts into host memory takes {} bytes ({}), above the host "
                  "memory budget of {} bytes ({})\n",
                  options.model.model, hostBytes(), formatBytes(hostBytes()), limit, formatBytes(limit));
  text += "largest states there:\n";
  for (const auto &[name, bytes] : exporter::largestOnHost(module, 8))
    text += fmt::format("  {:>12}  {}\n", formatBytes(bytes), name);
  return text + remedies + fmt::format("smallest feasible host memory budget: {} bytes\n", hostBytes());
}

} // namespace kedge::driver
