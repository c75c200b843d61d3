// What a step costs: the sum over the launches of its functions.
#pragma once
#include "kedge/Analysis/LaunchCost.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace kedge::analysis {

struct ScheduledLaunch {
  std::string function;
  int64_t index = 0;  ///< among the function's launches
  std::string kernel; ///< the library kernel's name; "cluster" for a generated one, until launchesAsRun names it
  std::string place;  ///< in the model
  LaunchCost cost;
  double seconds = 0;
  std::optional<train::FunctionKind> kind = std::nullopt; ///< of the function
};

/// Launches of every function of a level-3 module, in order.
std::vector<ScheduledLaunch> launchesOf(mlir::ModuleOp module, const DeviceModel &device);

/// Marks the launches of a level-3 module with their rows of launchesOf (`kedge.rows`, several once launches have joined),
/// so that their work is found again behind planning.
void markLaunches(mlir::ModuleOp module);
/// One row a launch of a level-4 module, with the program's number and kernel: the work of what was marked, that of joined
/// launches together. Takes the marks off.
std::vector<ScheduledLaunch> launchesAsRun(mlir::ModuleOp module, const std::vector<ScheduledLaunch> &launches);

struct StepCost {
  double seconds = 0, flops = 0;
  std::map<std::string, double> functionSeconds; ///< of one run of each function
};

/// @step, or `accumulate` times @micro and then @update; @init and @eval are no part of a step.
StepCost stepCost(const std::vector<ScheduledLaunch> &launches, int64_t accumulate);

/// CSV with a heading and one line a launch.
std::string launchTable(const std::vector<ScheduledLaunch> &launches);

} // namespace kedge::analysis
