#include "driver/why/AllAnswers.h"
#include "driver/why/StateAnswer.h"
#include "driver/why/Turns.h"
#include "driver/why/ValueAnswers.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/StateOps.h"

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

/// A launch is told once, however many values it reads.
void toNumbers(json &turns) {
  for (json &turn : turns)
    turn = turn["launch"];
}

json turnsOf(ModuleOp module) {
  json turns = json::object();
  for (auto function : module.getOps<exec::FunctionOp>()) {
    const std::string name = function.getSymName().str();
    turns[name] = json::array();
    for (auto [at, launch] : llvm::enumerate(launchesIn(module, name)))
      turns[name].push_back(turnJson(launch, static_cast<int64_t>(at)));
  }
  return turns;
}

json valuesOf(Compilation &compilation, ValueAnswers &answers) {
  json values = json::array();
  for (const PlannedValue &planned : plannedValues(compilation.prices())) {
    json &value = values.emplace_back(answers.value(planned));
    toNumbers(value["made"]);
    toNumbers(value["read"]);
  }
  return values;
}

json statesOf(Compilation &compilation, const CompileOptions &options) {
  json states = json::array();
  for (auto state : compilation.module().getOps<train::StateOp>()) {
    // Moments and copies are shown with their parameter; of the rest people ask by the model's names.
    if (state.getOf() || !state.getOnnxName())
      continue;
    json answer = stateAnswer(state.getSymName().str(), compilation, options);
    for (json &function : answer["functions"])
      for (const char *key : {"readers", "writers", "gathers"})
        toNumbers(function[key]);
    states.push_back(
        {{"tensor", state.getOnnxName()->str()}, {"meaning", meaningOf(state)}, {"state", answer}});
  }
  return states;
}

} // namespace

json allAnswers(Compilation &compilation, const CompileOptions &options) {
  ValueAnswers answers(compilation, options);
  return {{"plan", answers.plan()},
          {"values", valuesOf(compilation, answers)},
          {"states", statesOf(compilation, options)},
          {"turns", turnsOf(compilation.module())}};
}

} // namespace kedge::driver
