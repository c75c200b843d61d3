// What a choice of --auto costs: bounds from schedules, plans from the planner.
#pragma once
#include "driver/joint/JointSpace.h"
#include "lib/Analysis/MovedStates.h"
#include "lib/Analysis/StepGraph.h"
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace kedge::driver {

class JointCosts : public solver::JointOracle {
public:
  JointCosts(const JointSpace &space, const CompileOptions &options);

  /// First what every mesh computes for a micro-batch of these rows and precision. Then what a pipeline's
  /// ranks wait at least, whatever its stages are, or what they send along `tensor`; then what they wait by
  /// the pipeline's own timetable, or what ranks along `tensor` alone cannot hide of what they send. Then all
  /// launches of the
  /// mesh's and stage's schedule (in a pipeline those of its first rank), the states that move, and the bytes
  /// that are held all the time, before anything is computed again or packed.
  int bounds() const override { return 4; }
  int cheapBounds() const override { return 2; }
  /// Ops of all modules that were made for bounds, weighted by how long such an op takes.
  int64_t spent() const override { return ops; }
  double bound(const solver::JointChoice &choice, int which) override;
  solver::JointPlan plan(const solver::JointChoice &choice) override;

  /// Bytes of the device that plans may use.
  int64_t budget() const { return limit; }
  /// Plans for another budget from now on.
  void setBudget(int64_t bytes) { limit = bytes; }
  /// The bytes that a choice holds all the time; by its schedule.
  int64_t heldBytes(const solver::JointChoice &choice);
  /// The least bytes that its plan found, once it is planned; 0 otherwise.
  int64_t leastBytes(const solver::JointChoice &choice) const;
  /// Its --feed-forward-chunk, once it is planned.
  int64_t chunkOf(const solver::JointChoice &choice) const;
  /// Why it is not available; empty: it is.
  std::string refusal(const solver::JointChoice &choice) const;
  int64_t scheduled() const { return static_cast<int64_t>(schedules.size()); }

private:
  /// Of a mesh, stage, rows and precision. Each gradient is sent alone, in no time but that of its bytes,
  /// which no bucket is better than.
  struct Schedule {
    double seconds = 0; ///< no plan of the step takes less
    int64_t heldBytes = 0;
    std::map<std::string, analysis::MovedStates> moved; ///< by the value of --offload
  };
  double bounded(const solver::JointChoice &choice, int which);
  /// On one rank, or one of those that share out the experts, for a micro-batch.
  struct Common {
    double seconds = 0, products = 0;
    double forwardShare = 0; ///< of products, the least of any node
    bool isWide = false;     ///< --feed-forward-chunk changes it
  };
  const Common &commonOf(const solver::JointChoice &choice);
  double shareOf(const solver::JointChoice &choice, double micro) const;
  double common(const solver::JointChoice &choice);
  double filled(const solver::JointChoice &choice);
  const solver::StepChain &chainOf(const solver::JointChoice &choice);
  double sent(const solver::JointChoice &choice);
  double shown(const solver::JointChoice &choice);
  double waited(const solver::JointChoice &choice);
  void count(mlir::ModuleOp module, const solver::JointChoice &choice, bool isOfOneRank = false);
  const Schedule &schedule(const solver::JointChoice &choice);
  double scheduledSeconds(const solver::JointChoice &choice);
  solver::JointPlan planned(const solver::JointChoice &choice);
  solver::JointPlan planned(const solver::JointChoice &choice, int64_t feedForwardChunk);
  double leastSeconds(const solver::JointChoice &choice, const nlohmann::json &report);

  const JointSpace &space;
  analysis::DeviceModel device, swift; ///< `swift`: messages take the time of their bytes alone
  int64_t limit = 0;
  int64_t ops = 0;
  std::map<std::string, Common> commons;
  std::map<std::string, solver::StepChain> chains;                       ///< along `tensor`, of a micro-batch
  std::map<std::tuple<int64_t, int64_t, int64_t, double>, double> spans; ///< of leastSpan
  std::map<solver::JointChoice, double> waits;        ///< by choices with the first bucket and offload
  std::map<solver::JointChoice, std::string> refused; ///< by choices with the first bucket and offload
  std::map<solver::JointChoice, std::string> refusedPlans;
  std::map<solver::JointChoice, Schedule> schedules; ///< by choices with the first bucket and offload
  std::map<std::pair<int64_t, solver::JointChoice>, solver::JointPlan> plans; ///< by budget
  std::map<solver::JointChoice, int64_t> least;
  std::map<solver::JointChoice, int64_t> chunks; ///< of those that fit in chunks alone
};

} // namespace kedge::driver
