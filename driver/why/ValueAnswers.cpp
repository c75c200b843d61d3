#include "driver/why/ValueAnswers.h"
#include "driver/why/Turns.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {

ValueAnswers::ValueAnswers(Compilation &compilation, const CompileOptions &options, std::string force)
    : compilation(compilation), options(options), force(std::move(force)), report(compilation.report()),
      view(exporter::viewPlan(compilation.module())), lives(livesOf(compilation)) {}

json ValueAnswers::plan() const {
  json plan = {{"target", options.machine.target}, {"ranks", options.model.ranks.front()}};
  for (const char *key : {"peak_bytes", "budget_bytes", "fits", "step_seconds", "unconstrained_peak_bytes"})
    plan[key] = report.at(key);
  plan["overhead"] = report.at("recompute").at("overhead");
  return plan;
}

json ValueAnswers::value(const PlannedValue &value) {
  json entry = {{"id", value.id()},
                {"function", value.function},
                {"type", typeText(value.facts.getAs<TypeAttr>("type").getValue())},
                {"bytes", value.facts.getAs<IntegerAttr>("bytes").getInt()},
                {"layout", layout()}};
  if (auto place = value.facts.getAs<PlaceAttr>("place"))
    entry.update({{"phase", stringifyTrainingPhase(place.getPhase()).str()},
                  {"module", place.getModule().str()},
                  {"node", place.getNode().str()}});
  if (auto chosen = value.facts.getAs<StringAttr>("chosen"))
    entry["chosen"] = chosen.str();
  addLives(entry, value);
  addPrices(entry, value);
  return entry;
}

std::string ValueAnswers::layout() const {
  if (options.model.ranks.front() == 1)
    return "whole";
  return options.model.meshOfRanks().sizeOf(rt::Mesh::kTensor) > 1
             ? "of this rank's own rows, its block where 'tensor' cuts it (kedge-opt --kedge-show-layouts)"
             : "of this rank's own rows";
}

void ValueAnswers::addLives(json &entry, const PlannedValue &value) {
  const std::vector<Operation *> launches = launchesIn(compilation.module(), value.function);
  const exporter::PlanFunction &function = functionOf(value.function);
  const int64_t fullest = static_cast<int64_t>(function.fullest()) - 1;
  entry["made"] = entry["read"] = entry["in_memory"] = json::array();
  bool stands = false;
  for (const ValueLife &life : lives[value.id()]) {
    if (life.from >= 0)
      entry["made"].push_back(turnJson(launches[static_cast<size_t>(life.from)], life.from));
    for (int64_t reader : life.readers)
      entry["read"].push_back(turnJson(launches[static_cast<size_t>(reader)], reader));
    entry["in_memory"].push_back({{"from", life.from},
                                  {"to", life.to},
                                  {"bytes", life.bytes},
                                  {"offset", life.offset},
                                  {"memory", life.host ? "host" : "device"}});
    stands |= !life.host && life.from <= fullest && fullest <= life.to;
    if (life.persistent)
      entry["persistent"] = true;
  }
  entry["peak"] = {{"launch", fullest},
                   {"stands", stands},
                   {"bytes", view.persistentBytes + function.load[function.fullest()]},
                   {"of_the_plan", &function == &view.functions[view.fullest()]}};
}

const exporter::PlanFunction &ValueAnswers::functionOf(const std::string &name) const {
  for (const exporter::PlanFunction &function : view.functions)
    if (function.name == name)
      return function;
  fail("the plan has no function @{}", name);
}

/// Times of the whole step, in which the function may run several times.
void ValueAnswers::addPrices(json &entry, const PlannedValue &value) {
  if (!value.facts.contains("keep"))
    return;
  auto function = compilation.module().lookupSymbol<exec::FunctionOp>(value.function);
  const double times = static_cast<double>(train::runsInStep(*function.getKind(), options.accumulate));
  const std::string chosen = entry.value("chosen", "");
  double seconds = 0;
  int64_t peak = 0;
  if (auto price = value.facts.getAs<DictionaryAttr>(chosen.empty() ? "keep" : chosen);
      price && price.contains("seconds")) {
    seconds = price.getAs<FloatAttr>("seconds").getValueAsDouble();
    peak = price.getAs<IntegerAttr>("peak_bytes").getInt();
  }
  for (const char *decision : {"keep", "recompute", "offload"}) {
    auto price = value.facts.getAs<DictionaryAttr>(decision);
    json &row = entry["prices"][decision];
    if (auto obstacle = price.getAs<StringAttr>("obstacle")) {
      row["obstacle"] = obstacle.str();
      continue;
    }
    const int64_t bytes = price.getAs<IntegerAttr>("peak_bytes").getInt();
    row["peak_bytes"] = bytes;
    row["peak_change"] = bytes - peak;
    row["seconds_change"] = times * (price.getAs<FloatAttr>("seconds").getValueAsDouble() - seconds);
  }
  entry["reason"] = reason(entry);
}

/// What the numbers say of the plan's decision, and no more.
std::string ValueAnswers::reason(const json &entry) const {
  const std::string chosen = entry.value("chosen", "");
  const json &prices = entry["prices"];
  if (chosen.empty())
    return "it is an input of the step: there from its start to its last reader";
  const json &budget = report["budget_bytes"];
  auto exceeds = [&](const json &row) {
    return !budget.is_null() && row.contains("peak_bytes") &&
           row["peak_bytes"].get<int64_t>() > budget.get<int64_t>();
  };
  if (!force.empty())
    return "the decision was forced";
  if (chosen != "keep") {
    if (prices["keep"].contains("obstacle"))
      return "it cannot be kept alone: " + prices["keep"]["obstacle"].get<std::string>();
    if (exceeds(prices["keep"]))
      return fmt::format("kept, it would take the peak to {}, above the budget of {}",
                         formatBytes(prices["keep"]["peak_bytes"].get<int64_t>()),
                         formatBytes(budget.get<int64_t>()));
    if (budget.is_null())
      return "the policy of --recompute or --offload says so";
    return "kept alone, it would still fit: the plan is the cheapest that the solver found, not the best "
           "for each value";
  }
  return reasonToKeep(entry, prices);
}

std::string ValueAnswers::reasonToKeep(const json &entry, const json &prices) const {
  const json &again = prices["recompute"], &away = prices["offload"];
  if (again.contains("obstacle") && away.contains("obstacle"))
    return "there is no other way: " + again["obstacle"].get<std::string>();
  if (report["budget_bytes"].is_null() && report["recompute"]["ops"] == 0)
    return "without a budget everything that is read later is kept";
  std::string text = report["budget_bytes"].is_null() ? "the policy of --recompute or --offload leaves it"
                                                      : "within the budget";
  for (const auto &[name, row] :
       {std::pair{"computing it again", &again}, {"moving it to host memory", &away}}) {
    if (!row->contains("peak_change"))
      continue;
    const int64_t change = (*row)["peak_change"].get<int64_t>();
    const double added = (*row)["seconds_change"].get<double>();
    text += fmt::format("; {} would {} and add {:.3g} s", name,
                        change < 0    ? "lower the peak by " + formatBytes(-change)
                        : change == 0 ? "not lower the peak"
                                      : "raise the peak by " + formatBytes(change),
                        added);
  }
  return text + (entry["peak"]["stands"].get<bool>() ? "" : "; it is not in memory at the peak");
}

} // namespace kedge::driver
