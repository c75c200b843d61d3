#include "lib/Analysis/StepCost.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
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
  case WorkKind::None:
    return "none";
  case WorkKind::Transfer:
    return "transfer";
  case WorkKind::Collective:
    return "collective";
  case WorkKind::Vector:
    return "vector";
  case WorkKind::Moving:
    return "moving";
  case WorkKind::Irregular:
    return "irregular";
  case WorkKind::Matmul:
    return "product";
  case WorkKind::Convolution:
    return "convolution";
  case WorkKind::Attention:
    return "attention";
  }
  return "";
}

/// Those of a level-3 module, in order.
void forEachLaunch(ModuleOp module,
                   llvm::function_ref<void(func::FuncOp, Operation &, const LaunchCost &)> visit) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.isPrivate())
      continue;
    for (Operation &op : function.getBody().front())
      if (LaunchCost cost = costOf(&op); cost.kind != WorkKind::None)
        visit(function, op, cost);
  }
}

/// Launches that became one are charged one latency.
void add(const ScheduledLaunch &part, ScheduledLaunch &sum, const DeviceModel &device) {
  sum.cost.kind = part.cost.kind;
  sum.cost.flops += part.cost.flops;
  sum.cost.specialFunctions += part.cost.specialFunctions;
  sum.cost.bytesRead += part.cost.bytesRead;
  sum.cost.bytesWritten += part.cost.bytesWritten;
  sum.cost.extent = std::max(sum.cost.extent, part.cost.extent);
  sum.seconds += part.seconds - (sum.rows.empty() ? 0 : device.launchSeconds);
}

} // namespace

std::vector<ScheduledLaunch> launchesOf(ModuleOp module, const DeviceModel &device) {
  std::vector<ScheduledLaunch> launches;
  size_t most = 0; // rows are large, and a list that grows is there twice
  for (auto function : module.getOps<func::FuncOp>())
    most += function.isExternal() ? 0 : function.getBody().front().getOperations().size();
  launches.reserve(most);
  int64_t index = 0;
  std::string function;
  forEachLaunch(module, [&](func::FuncOp of, Operation &op, const LaunchCost &cost) {
    index = of.getName() == function ? index + 1 : 0;
    function = of.getName().str();
    auto library = dyn_cast<sched::LibraryOp>(op);
    launches.push_back({function, index,
                        library                           ? library.getKernel().str()
                        : cost.kind == WorkKind::Transfer ? "copy"
                                                          : "cluster",
                        placeText(&op), cost, secondsOf(cost, device), train::kindOf(of)});
  });
  return launches;
}

void markLaunches(ModuleOp module) {
  int64_t row = 0;
  forEachLaunch(module, [&](func::FuncOp, Operation &op, const LaunchCost &) {
    RowsNote(module.getContext()).setAttr(&op, DenseI64ArrayAttr::get(module.getContext(), row++));
  });
}

/// Of each launch: the values that it is the last to read, in the order of their places in the list.
static std::map<int64_t, std::string> lastReadsOf(exec::FunctionOp function) {
  std::map<int64_t, std::string> names;
  int64_t index = 0;
  std::map<Operation *, int64_t> last;
  for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
    for (Value read : launch.getReads())
      last[read.getDefiningOp()] = index;
    ++index;
  }
  for (auto buffer : function.getBody().getOps<exec::BufferOp>()) {
    auto reader = last.find(buffer);
    if (reader == last.end() || buffer.getStateAttr())
      continue;
    std::string &list = names[reader->second];
    list += (list.empty() ? "" : " ") + buffer.getName().str();
  }
  return names;
}

std::vector<ScheduledLaunch> launchesAsRun(ModuleOp module, const std::vector<ScheduledLaunch> &launches,
                                           const DeviceModel &device) {
  std::vector<ScheduledLaunch> numbered;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    int64_t index = 0;
    const std::map<int64_t, std::string> lastReads = lastReadsOf(function);
    for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
      ScheduledLaunch &one = numbered.emplace_back();
      one.function = function.getSymName().str();
      one.kind = function.getKind();
      if (auto reads = lastReads.find(index); reads != lastReads.end())
        one.lastReads = reads->second;
      one.index = index++;
      one.kernel = launch.getKernel().str();
      one.stream = launch.getStream();
      one.place = placeText(launch);
      auto rows = dyn_cast_or_null<DenseI64ArrayAttr>(launch->removeAttr(RowsNote::getNameStr()));
      for (int64_t row : rows ? rows.asArrayRef() : ArrayRef<int64_t>()) {
        add(launches[static_cast<size_t>(row)], one, device);
        one.rows.push_back(row);
      }
    }
  }
  return numbered;
}

StepCost stepCost(const std::vector<ScheduledLaunch> &launches, int64_t accumulate) {
  StepCost step;
  for (const ScheduledLaunch &launch : launches) {
    step.functionSeconds[launch.function] += launch.seconds;
    double times = launch.kind ? static_cast<double>(train::runsInStep(*launch.kind, accumulate)) : 0;
    step.seconds += times * launch.seconds;
    step.flops += times * launch.cost.flops;
  }
  return step;
}

std::string launchTable(const std::vector<ScheduledLaunch> &launches) {
  std::string table = "function,launch,kernel,kind,flops,special_functions,bytes_read,bytes_written,extent,"
                      "seconds,place,last_reads,stream\n";
  for (const ScheduledLaunch &launch : launches)
    table += fmt::format("{},{},{},{},{},{},{},{},{},{},\"{}\",\"{}\",{}\n", launch.function, launch.index,
                         launch.kernel, nameOf(launch.cost.kind), launch.cost.flops,
                         launch.cost.specialFunctions, launch.cost.bytesRead, launch.cost.bytesWritten,
                         launch.cost.extent, launch.seconds, launch.place, launch.lastReads, launch.stream);
  return table;
}

} // namespace kedge::analysis
