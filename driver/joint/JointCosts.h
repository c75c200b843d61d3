// What a choice of --auto costs: bounds from schedules, plans from the planner.
#pragma once
#include "driver/joint/JointSpace.h"
#include "lib/Analysis/DeviceModel.h"
#include <map>
#include <nlohmann/json.hpp>

namespace kedge::driver {

class JointCosts : public solver::JointOracle {
public:
  JointCosts(const JointSpace &space, const CompileOptions &options);

  /// First what every mesh computes for a micro-batch of these rows and precision; then all launches of the choice's
  /// schedule and the bytes that it holds all the time, before anything is computed again or packed.
  int bounds() const override { return 2; }
  double bound(const solver::JointChoice &choice, int which) override;
  solver::JointPlan plan(const solver::JointChoice &choice) override;

  /// Bytes of the device that plans may use.
  int64_t budget() const { return limit; }
  /// Plans for another budget from now on.
  void setBudget(int64_t bytes) { limit = bytes; }
  /// The bytes that a choice holds all the time; once its second bound is known.
  int64_t heldBytes(const solver::JointChoice &choice) const;
  /// The least bytes that its plan found, once it is planned; 0 otherwise.
  int64_t leastBytes(const solver::JointChoice &choice) const;
  int64_t scheduled() const { return static_cast<int64_t>(schedules.size()); }

private:
  struct Schedule {
    double seconds = 0;     ///< no plan of the step takes less
    double updateSeconds = 0; ///< of the functions that run once a step while others run for each micro-batch
    int64_t heldBytes = 0;
  };
  double common(const solver::JointChoice &choice);
  const Schedule &schedule(const solver::JointChoice &choice);
  solver::JointPlan planned(const solver::JointChoice &choice);
  double leastSeconds(const solver::JointChoice &choice, const nlohmann::json &report);

  const JointSpace &space;
  analysis::DeviceModel device;
  int64_t limit = 0;
  std::map<std::string, double> commons;
  std::map<solver::JointChoice, Schedule> schedules;
  std::map<std::pair<int64_t, solver::JointChoice>, solver::JointPlan> plans; ///< by budget
  std::map<solver::JointChoice, int64_t> least;
};

} // namespace kedge::driver
