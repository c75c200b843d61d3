// The plans of all ranks of a pipeline, as one.
#pragma once
#include "driver/Compilation.h"
#include "passes/Pipeline/Schedule.h"

namespace kedge::driver {

/// Plans each rank's program. Of ranks that are alike the first one counts.
class PipelinePlan {
public:
  /// Throws kedge::Error, as Compilation does.
  explicit PipelinePlan(const CompileOptions &options);

  /// That of the rank that takes the most bytes (or of the first that does not fit), with `ranks` (all that
  /// differ), `pipeline` (schedule, stages, slots, bubble) and the seconds of the whole step.
  const nlohmann::json &report() const { return whole; }
  /// Of that rank, planned.
  Compilation &compilation() { return *shown; }
  const CompileOptions &options() const { return *shownOptions; }

private:
  void planRank(const CompileOptions &options, int64_t place);
  void addSchedule(mlir::ModuleOp module, const rt::Mesh &mesh);

  nlohmann::json whole, ranks = nlohmann::json::array(), pipeline;
  double seconds = 0; ///< of the slowest rank, with what it waits
  std::unique_ptr<CompileOptions> shownOptions;
  std::unique_ptr<Compilation> shown;
};

/// The slots of all ranks, of the module of one.
std::vector<pipeline::Slot> slotsOf(mlir::ModuleOp module);

/// Where --save-ir writes the IR of a pipeline's rank.
std::string folderOfRank(const std::string &folder, int64_t rank);

/// The report of a plan, of a pipeline or not.
nlohmann::json reportOf(const CompileOptions &options);

/// The share of its time that computing again adds to a report's step; of several ranks the largest.
double addedTimeOf(const nlohmann::json &report);

/// Without `--pipeline-schedule auto` the options as they are; else with the schedule whose step is predicted
/// to be the shortest, of those that fit the budget (without one: the device's memory) or that need the
/// least. Tells which.
CompileOptions withChosenSchedule(const CompileOptions &options);

} // namespace kedge::driver
