// The memory report: what `kedge plan --json` prints and a program carries.
#include "driver/BudgetCheck.h"
#include "driver/Compilation.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Analysis/Communication.h"
#include "lib/Analysis/Overlap.h"
#include "lib/Analysis/SideWork.h"
#include "lib/Export/Plan/PlanReport.h"

using namespace mlir;

namespace kedge::driver {
namespace {

/// The sum over the functions of a step.
void addCopiesOfStep(nlohmann::json &report, ModuleOp planned, int64_t accumulate) {
  for (const char *name : {"to_host_bytes", "to_device_bytes", "to_disk_bytes", "from_disk_bytes"}) {
    if (!report["functions"].front().contains(name))
      continue;
    int64_t bytes = 0;
    for (const nlohmann::json &entry : report["functions"]) {
      auto function = planned.lookupSymbol<exec::FunctionOp>(entry["name"].get<std::string>());
      if (int64_t runs = function.getKind() ? train::runsInStep(*function.getKind(), accumulate) : 0)
        bytes += runs * entry[name].get<int64_t>();
    }
    report["offload"][name] = bytes;
  }
}

} // namespace

/// Communication between ranks, and the seconds of it that do not overlap with computing.
void Compilation::addCommunication(nlohmann::json &report) {
  for (const analysis::CommunicationRow &row : analysis::communicationOf(*ir, options.accumulate)) {
    report["communication"].push_back({{"collective", row.collective},
                                       {"type", row.type},
                                       {"calls", row.calls},
                                       {"elements", row.elements},
                                       {"bytes", row.bytes}});
    if (options.model.mesh)
      report["communication"].back()["axis"] = row.axis;
  }
  const analysis::StepOverlap overlap = analysis::overlapOf(*ir, numbered, options.accumulate);
  report["communication_seconds"] = overlap.seconds;
  report["communication_hidden_seconds"] = overlap.hidden;
  report["step_seconds"] = report["step_seconds"].get<double>() - overlap.hidden;
  report["ranks"] = options.model.ranks.front();
  report["zero"] = options.partition.stage;
  if (options.model.mesh)
    addMesh(report);
}

/// Of one rank: among several, kernels beside products also meet communication, and the bounds of plans count
/// all of it.
void Compilation::addSideWork(nlohmann::json &report) {
  const analysis::SideWork work = analysis::sideWorkOf(*ir, numbered, options.accumulate);
  if (work.seconds == 0)
    return;
  report["side_stream_seconds"] = work.seconds;
  report["side_stream_hidden_seconds"] = work.hidden;
  report["step_seconds"] = report["step_seconds"].get<double>() - work.hidden;
}

nlohmann::json Compilation::report() {
  if (!savedReport.is_null())
    return savedReport;
  counts.gradientSize = !options.gradientType                                    ? 0
                        : *options.gradientType == pipelines::GradientType::Fp32 ? 4
                                                                                 : 2;
  nlohmann::json report = exporter::planReport(*ir, counts);
  analysis::StepCost cost = analysis::stepCost(scheduled, options.accumulate);
  if (const int64_t limit = options.memory.plan.hostBudget) {
    report["host_budget_bytes"] = limit;
    report["fits"] = BudgetCheck(*ir, options).fits();
  }
  report["step_seconds"] = cost.seconds;
  if (options.model.ranks.front() > 1)
    addCommunication(report);
  else if (options.onGpu())
    addSideWork(report);
  report["flops"] = cost.flops;
  for (nlohmann::json &function : report["functions"])
    function["seconds"] = cost.functionSeconds[function["name"]];
  if (report.contains("offload"))
    addCopiesOfStep(report, *ir, options.accumulate);
  return report;
}

} // namespace kedge::driver
