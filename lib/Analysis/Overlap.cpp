#include "lib/Analysis/Overlap.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/abi/Streams.h"
#include "lib/Analysis/LaunchesByFunction.h"
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
  for (FunctionLaunches &own : byFunction(module, launches, accumulate)) {
    const double seconds = own.secondsOf([](exec::LaunchInterface launch) { return isCollective(launch); });
    const double shown = endOf(own.function, own.rows, true) - endOf(own.function, own.rows, false);
    step.seconds += own.runs * seconds;
    step.hidden += own.runs * std::max(0.0, seconds - shown);
  }
  return step;
}

} // namespace kedge::analysis
