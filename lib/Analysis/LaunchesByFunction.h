// The rows of launchesAsRun, function by function.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include "lib/Analysis/StepCost.h"

namespace kedge::analysis {

/// What of a function is looked at: its rows, and how often it runs in a step.
struct FunctionLaunches {
  exec::FunctionOp function;
  llvm::ArrayRef<ScheduledLaunch> rows;
  double runs = 0;

  auto launches() { return function.getBody().getOps<exec::LaunchInterface>(); }
  /// Seconds of the launches that `counts` picks, one after the other.
  double secondsOf(llvm::function_ref<bool(exec::LaunchInterface)> counts) {
    double seconds = 0;
    for (auto [launch, row] : llvm::zip_equal(launches(), rows))
      seconds += counts(launch) ? row.seconds : 0;
    return seconds;
  }
};

/// `launches`: the result of launchesAsRun for the level-4 module.
inline llvm::SmallVector<FunctionLaunches>
byFunction(mlir::ModuleOp module, llvm::ArrayRef<ScheduledLaunch> launches, int64_t accumulate) {
  llvm::SmallVector<FunctionLaunches> functions;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    FunctionLaunches own{function};
    own.rows = launches.take_front(static_cast<size_t>(llvm::range_size(own.launches())));
    launches = launches.drop_front(own.rows.size());
    if (const auto kind = function.getKind())
      own.runs = static_cast<double>(train::runsInStep(*kind, accumulate));
    functions.push_back(own);
  }
  return functions;
}

} // namespace kedge::analysis
