#include "kedge/Analysis/StepCost.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <fmt/format.h>

using namespace mlir;

namespace kedge::analysis {
namespace {

/// "backward/model.h.0.attn/MatMul", without what is unknown.
std::string placeText(Operation *op) {
  PlaceAttr place = placeOf(op);
  if (!place)
    return "";
  std::string text = place.getPhase() == TrainingPhase::Backward ? "backward" : "";
  for (StringRef part : {place.getModule(), place.getNode()})
    if (!part.empty())
      text += (text.empty() ? "" : "/") + part.str();
  return text;
}

const char *nameOf(WorkKind kind) {
  switch (kind) {
  case WorkKind::None: return "none";
  case WorkKind::Transfer: return "transfer";
  case WorkKind::Vector: return "vector";
  case WorkKind::Moving: return "moving";
  case WorkKind::Irregular: return "irregular";
  case WorkKind::Product: return "product";
  case WorkKind::Convolution: return "convolution";
  case WorkKind::Attention: return "attention";
  }
  return "";
}

} // namespace

std::vector<ScheduledLaunch> launchesOf(ModuleOp module, const DeviceModel &device) {
  std::vector<ScheduledLaunch> launches;
  for (auto function : module.getOps<func::FuncOp>()) {
    int64_t index = 0;
    if (function.isExternal() || function.isPrivate())
      continue;
    for (Operation &op : function.getBody().front()) {
      LaunchCost cost = costOf(&op);
      if (cost.kind == WorkKind::None)
        continue;
      auto library = dyn_cast<sched::LibraryOp>(op);
      launches.push_back({function.getName().str(), index++, library ? library.getKernel().str() : cost.kind == WorkKind::Transfer ? "copy" : "cluster",
                          placeText(&op), cost, secondsOf(cost, device)});
    }
  }
  return launches;
}

StepCost stepCost(const std::vector<ScheduledLaunch> &launches, int64_t accumulate) {
  StepCost step;
  for (const ScheduledLaunch &launch : launches) {
    step.functionSeconds[launch.function] += launch.seconds;
    double times = launch.function == "micro"                                  ? static_cast<double>(accumulate)
                   : launch.function == "step" || launch.function == "update" ? 1.0
                                                                               : 0.0;
    step.seconds += times * launch.seconds;
    step.flops += times * launch.cost.flops;
  }
  return step;
}

std::string launchTable(const std::vector<ScheduledLaunch> &launches) {
  std::string table = "function,launch,kernel,kind,flops,special_functions,bytes_read,bytes_written,extent,seconds,place\n";
  for (const ScheduledLaunch &launch : launches)
    table += fmt::format("{},{},{},{},{},{},{},{},{},{},\"{}\"\n", launch.function, launch.index, launch.kernel,
                         nameOf(launch.cost.kind), launch.cost.flops, launch.cost.specialFunctions,
                         launch.cost.bytesRead, launch.cost.bytesWritten, launch.cost.extent, launch.seconds, launch.place);
  return table;
}

} // namespace kedge::analysis
