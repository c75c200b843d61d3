// What kedge why says of a value of a plan.
#pragma once
#include "driver/why/Lives.h"
#include "driver/why/Named.h"
#include "lib/Export/Plan/PlanView.h"

namespace kedge::driver {

/// After Compilation::plan() of a plan with noted values.
class ValueAnswers {
public:
  /// `force`: the decision about one value that took the place of the plan's; "": none.
  ValueAnswers(Compilation &compilation, const CompileOptions &options, std::string force = "");

  /// Peak, budget and time of the plan.
  nlohmann::json plan() const;
  /// Who makes and reads the value, when it is in memory, and what other decisions about it would cost.
  nlohmann::json value(const PlannedValue &value);

private:
  std::string layout() const;
  void addLives(nlohmann::json &entry, const PlannedValue &value);
  const exporter::PlanFunction &functionOf(const std::string &name) const;
  void addPrices(nlohmann::json &entry, const PlannedValue &value);
  std::string reason(const nlohmann::json &entry) const;
  std::string reasonToKeep(const nlohmann::json &entry, const nlohmann::json &prices) const;

  Compilation &compilation;
  const CompileOptions &options;
  std::string force;
  nlohmann::json report;
  exporter::PlanView view;
  std::map<std::string, std::vector<ValueLife>> lives;
};

} // namespace kedge::driver
