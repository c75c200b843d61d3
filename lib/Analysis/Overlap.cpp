#include "lib/Analysis/Overlap.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/abi/Streams.h"
#include <algorithm>

using namespace mlir;

namespace kedge::analysis {
namespace {

bool isCollective(exec::LaunchInterface launch) {
  auto kernel = dyn_cast<exec::LaunchOp>(*launch);
  return kernel && kernel.getCollective();
}

/// When the last stream is done. `sends`: whether collectives take their time, or none.
double endOf(exec::FunctionOp function, ArrayRef<ScheduledLaunch> launches, bool sends) {
  std::map<uint64_t, double> streams;
  std::map<int64_t, double> events;
  double end = 0;
  size_t at = 0;
  for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
    const double seconds = sends || !isCollective(launch) ? launches[at].seconds : 0;
    const uint64_t stream = launch.getStream();
    double &clock = streams[stream == abi::kSideStream ? uint64_t(abi::kComputeStream) : stream];
    for (int64_t event : launch.getWaits().value_or(ArrayRef<int64_t>()))
      clock = std::max(clock, events[event]);
    clock += seconds;
    if (std::optional<uint64_t> event = launch.getRecords())
      events[static_cast<int64_t>(*event)] = clock;
    end = std::max(end, clock);
    ++at;
  }
  return end;
}

} // namespace

StepOverlap overlapOf(ModuleOp module, const std::vector<ScheduledLaunch> &launches, int64_t accumulate) {
  StepOverlap step;
  ArrayRef<ScheduledLaunch> rest(launches);
  for (auto function : module.getOps<exec::FunctionOp>()) {
    auto turns = function.getBody().getOps<exec::LaunchInterface>();
    ArrayRef<ScheduledLaunch> own = rest.take_front(static_cast<size_t>(llvm::range_size(turns)));
    rest = rest.drop_front(own.size());
    double seconds = 0;
    for (auto [launch, cost] : llvm::zip(turns, own))
      seconds += isCollective(launch) ? cost.seconds : 0;
    const int64_t runs = function.getKind() ? train::runsInStep(*function.getKind(), accumulate) : 0;
    const double shown = endOf(function, own, true) - endOf(function, own, false);
    step.seconds += static_cast<double>(runs) * seconds;
    step.hidden += static_cast<double>(runs) * std::max(0.0, seconds - shown);
  }
  return step;
}

} // namespace kedge::analysis
