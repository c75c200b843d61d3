// What a step costs: the sum over the launches of its functions.
#pragma once
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Analysis/LaunchCost.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace kedge::analysis {

struct ScheduledLaunch {
  std::string function;
  int64_t index = 0; ///< position among the function's launches
  std::string
      kernel; ///< the library kernel's name; "cluster" for a generated one, until launchesAsRun names it
  std::string place; ///< the layer of the model that it belongs to
  LaunchCost cost;
  double seconds = 0;
  std::optional<train::FunctionKind> kind = std::nullopt; ///< kind of the function
  std::vector<int64_t> rows = {}; ///< of launchesOf, those that it was made of; by launchesAsRun
  std::string lastReads = {};     ///< names of the values that no later launch uses; by launchesAsRun
  uint64_t stream = 0;            ///< include/kedge/abi/Streams.h; by launchesAsRun
};

/// The launches of all functions of a level-3 module, in order.
std::vector<ScheduledLaunch> launchesOf(mlir::ModuleOp module, const DeviceModel &device);

/// Notes on each launch of a level-3 module which rows of launchesOf it is (attribute `kedge.rows`). Launches
/// that are joined later have several rows. So the work of each is known after memory has been planned.
void markLaunches(mlir::ModuleOp module);
/// One row for each launch of a level-4 module, with its number and kernel in the program.
/// Its work is that of the rows that markLaunches noted, added up, with the latency of one. Removes the
/// notes.
std::vector<ScheduledLaunch>
launchesAsRun(mlir::ModuleOp module, const std::vector<ScheduledLaunch> &launches, const DeviceModel &device);

struct StepCost {
  double seconds = 0, flops = 0;
  std::map<std::string, double> functionSeconds; ///< for one run of each function
};

/// The time of @step, or of @micro `accumulate` times and @update once. @init and @eval are not counted.
StepCost stepCost(const std::vector<ScheduledLaunch> &launches, int64_t accumulate);

/// CSV: a heading, then one line for each launch.
std::string launchTable(const std::vector<ScheduledLaunch> &launches);

} // namespace kedge::analysis
