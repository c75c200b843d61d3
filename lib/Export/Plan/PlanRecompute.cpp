#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/AttrJson.h"
#include <algorithm>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;

namespace {

int64_t persistentBytes(ModuleOp module) {
  for (auto arena : module.getOps<exec::ArenaOp>())
    return arena.getPersistent();
  return 0;
}

/// Transient buffers that live at the fullest launch of `function`, and their sum.
std::pair<int64_t, std::vector<exec::BufferOp>> fullest(exec::FunctionOp function, int64_t persistent) {
  std::map<int64_t, int64_t> change;
  std::vector<exec::BufferOp> transient;
  for (auto buffer : function.getBody().getOps<exec::BufferOp>())
    if (!buffer.getHost() && static_cast<int64_t>(buffer.getOffset()) >= persistent) {
      transient.push_back(buffer);
      change[static_cast<int64_t>(buffer.getFirst())] += buffer.getSize();
      change[static_cast<int64_t>(buffer.getLast()) + 1] -= buffer.getSize();
    }
  int64_t load = 0, most = 0, at = 0;
  for (auto [step, bytes] : change)
    if ((load += bytes) > most) {
      most = load;
      at = step;
    }
  llvm::erase_if(transient, [&](exec::BufferOp buffer) {
    return static_cast<int64_t>(buffer.getFirst()) > at || static_cast<int64_t>(buffer.getLast()) < at;
  });
  return {most, transient};
}

} // namespace

std::vector<std::pair<std::string, int64_t>> kedge::exporter::largestAtPeak(ModuleOp module, size_t count) {
  int64_t persistent = persistentBytes(module);
  std::pair<int64_t, std::vector<exec::BufferOp>> worst{-1, {}};
  std::string name;
  for (auto function : module.getOps<exec::FunctionOp>())
    if (auto candidate = fullest(function, persistent); candidate.first > worst.first) {
      worst = std::move(candidate);
      name = function.getSymName().str();
    }
  std::vector<std::pair<std::string, int64_t>> values{{"state: parameters, optimizer, buffers", persistent}};
  for (exec::BufferOp buffer : worst.second)
    values.push_back({name + ": " + buffer.getName().str(), buffer.getSize()});
  std::stable_sort(values.begin(), values.end(),
                   [](const auto &a, const auto &b) { return a.second > b.second; });
  values.resize(std::min(values.size(), count));
  return values;
}

void kedge::exporter::addRecomputeFacts(json &report, ModuleOp module) {
  auto facts = sched::RecomputeNote(module.getContext()).getAttr(module);
  if (!facts)
    return;
  if (IntegerAttr budget = facts.getBudgetBytes())
    report["budget_bytes"] = budget.getInt();
  report["fits"] = facts.getFits().getValue();
  report["unconstrained_peak_bytes"] = facts.getUnconstrainedPeakBytes().getInt();
  report["unconstrained_transient_bytes"] = facts.getUnconstrainedTransientBytes().getInt();
  // What the pass found before buffers were packed and launches put in their last order; this plan's peak is
  // feasible, too.
  report["smallest_feasible_bytes"] =
      std::min(facts.getSmallestFeasibleBytes().getInt(), report["peak_bytes"].get<int64_t>());
  report["recompute"] = {{"policy", facts.getPolicy().str()},
                         {"ops", facts.getOps().getInt()},
                         {"flops", facts.getFlops().getValueAsDouble()},
                         {"overhead", facts.getOverhead().getValueAsDouble()},
                         {"lower_bound", facts.getLowerBound().getValueAsDouble()},
                         {"blocks", toJson(facts.getBlocks())}};
  if (ArrayAttr frontier = facts.getFrontier())
    report["frontier"] = toJson(frontier);
}
