#include "driver/plan/Compare.h"
#include "driver/plan/PipelinePlan.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Progress.h"
#include "lib/Support/Reporter.h"
#include <fmt/format.h>

namespace kedge::driver {
namespace {

using remat::Policy;

/// A model with too few places to cut has no row for an interleaved one.
constexpr const char *kSchedules[] = {"gpipe", "1f1b", "interleaved=2", "zero-bubble"};

int rowsDone = 0, rowsInAll = 1; // of the comparison under way, for those who wait

nlohmann::json rowOf(const std::string &name, const CompileOptions &options, const nlohmann::json &report) {
  nlohmann::json row = {{"name", name},
                        {"precision", wordOf(options.precision)},
                        {"peak_bytes", report["peak_bytes"]},
                        {"smallest_feasible_bytes", report["smallest_feasible_bytes"]},
                        {"overhead", report["recompute"]["overhead"]},
                        {"fits", report["fits"]},
                        {"step_seconds", report.value("step_seconds", nlohmann::json())}};
  if (report.contains("pipeline"))
    row["bubble"] = report["pipeline"]["bubble"];
  if (!severalRanks(options))
    return row;
  row["zero"] = options.partition.stage;
  row["communication_seconds"] = report["communication_seconds"];
  int64_t sent = 0;
  for (const nlohmann::json &entry : report["communication"])
    sent += entry["bytes"].get<int64_t>();
  row["communication_bytes"] = sent;
  return row;
}

nlohmann::json rowOf(const std::string &name, const CompileOptions &options) {
  ProgressStage stage(fmt::format("comparing, {} of {}: {}", rowsDone + 1, rowsInAll, name),
                      static_cast<double>(rowsDone) / rowsInAll);
  ++rowsDone;
  return rowOf(name, options, reportOf(options));
}

CompileOptions trialOf(const CompileOptions &options) {
  CompileOptions trial = options;
  trial.trial = Trial::Silent;
  trial.memory.frontier = false; // a row is one plan
  return trial;
}

nlohmann::json policyRow(const CompileOptions &options, Policy policy) {
  CompileOptions changed = trialOf(options);
  changed.memory.recompute = policy;
  return rowOf(policy.text(), changed);
}

nlohmann::json offloadRow(const CompileOptions &options) {
  CompileOptions changed = trialOf(options);
  changed.memory.recompute = Policy{};
  if (!options.memory.offloads(OffloadKind::Activations))
    changed.memory.offload.push_back({OffloadKind::Activations, ""});
  return rowOf("offload", changed);
}

/// The first 16-bit precision that was asked for; bf16 when none was.
pipelines::Precision narrowOf(const CompileOptions &options) {
  for (pipelines::Precision precision : options.precisions)
    if (precision != pipelines::Precision::Fp32)
      return precision;
  return pipelines::Precision::Bf16;
}

} // namespace

void expectRows(const CompileOptions &options) {
  rowsDone = 0;
  if (options.isPipelined()) {
    rowsInAll = static_cast<int>(std::size(kSchedules));
    return;
  }
  rowsInAll = 6 + (options.precisions.size() > 1 ? static_cast<int>(options.precisions.size()) : 0);
  if (options.model.adapters.inserts())
    rowsInAll += options.model.adapters.quantize.weights.empty() ? 2 : 3;
  if (severalRanks(options))
    rowsInAll += (options.masterWeights == pipelines::MasterWeights::Off ? 1 : 4) + 5;
}

bool severalRanks(const CompileOptions &options) { return options.model.ranks.front() > 1; }

nlohmann::json comparePolicies(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Policy::Kind kind :
       {Policy::Kind::None, Policy::Kind::Full, Policy::Kind::Sqrt, Policy::Kind::Attention})
    rows.push_back(policyRow(options, {kind}));
  rows.push_back(offloadRow(options));
  // Without a budget, auto recomputes nothing.
  rows.push_back(policyRow(options, {Policy::Kind::Auto}));
  return rows;
}

nlohmann::json comparePrecisions(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (pipelines::Precision precision : options.precisions) {
    CompileOptions changed = trialOf(options);
    changed.precision = precision;
    rows.push_back(rowOf(wordOf(precision), changed));
  }
  return rows;
}

nlohmann::json compareTuning(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  CompileOptions changed = trialOf(options);
  changed.model.adapters = {};
  rows.push_back(rowOf("all parameters", changed));
  changed.model.adapters = options.model.adapters;
  changed.model.adapters.quantize.weights.clear();
  changed.model.adapters.quantize.doubleQuantize = false;
  rows.push_back(rowOf("adapters", changed));
  if (options.model.adapters.quantize.weights.empty())
    return rows;
  changed.model.adapters = options.model.adapters;
  rows.push_back(rowOf("+ few bits", changed));
  return rows;
}

nlohmann::json compareStages(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  // Weights without masters are whole on every rank.
  const int64_t last = options.masterWeights == pipelines::MasterWeights::Off ? 0 : 3;
  for (int64_t stage = 0; stage <= last; ++stage) {
    CompileOptions changed = trialOf(options);
    changed.partition.stage = stage;
    rows.push_back(rowOf(fmt::format("zero {}", stage), changed));
  }
  return rows;
}

nlohmann::json compareSchedules(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char *schedule : kSchedules) {
    CompileOptions changed = trialOf(options);
    changed.pipeline.schedule = schedule;
    try {
      rows.push_back(rowOf(schedule, changed));
    } catch (const Error &error) { // too few places to cut
      if (std::string_view(schedule) == options.pipeline.schedule)
        throw;
      note("no row for {}: {}", schedule, error.what());
    }
  }
  return rows;
}

nlohmann::json compareSteps(const CompileOptions &options) {
  CompileOptions changed = trialOf(options);
  changed.precision = pipelines::Precision::Fp32, changed.memory.recompute = Policy{};
  changed.partition.stage = 0, changed.memory.offload.clear();
  changed.masterWeights = pipelines::MasterWeights::On;
  nlohmann::json rows = nlohmann::json::array({rowOf("baseline", changed)});
  changed.memory.recompute = Policy{Policy::Kind::Full};
  rows.push_back(rowOf("+ recompute", changed));
  changed.precision = narrowOf(options);
  rows.push_back(rowOf(std::string("+ ") + wordOf(changed.precision), changed));
  changed.partition.stage = 2;
  rows.push_back(rowOf("+ zero 2", changed));
  changed.partition.stage = 3;
  changed.memory.offload = {{OffloadKind::Optimizer, ""}, {OffloadKind::Params, ""}};
  rows.push_back(rowOf("+ zero 3, offload", changed));
  return rows;
}

nlohmann::json compareWithAuto(const CompileOptions &options, const CompileOptions &chosen,
                               const nlohmann::json &report) {
  nlohmann::json rows = severalRanks(options) ? compareSteps(options) : comparePolicies(options);
  rows.push_back(rowOf("--auto", chosen, report));
  rows.back()["lower_bound"] = report["auto"]["lower_bound"];
  return rows;
}

std::string compareText(const char *what, const nlohmann::json &rows, bool budgeted) {
  const bool sends = !rows.empty() && rows.front().contains("communication_bytes"),
             waits = !rows.empty() && rows.front().contains("bubble");
  const auto column = [](bool shown, const std::string &content) {
    return shown ? fmt::format("{:>14}", content) : "";
  };
  std::string text =
      fmt::format("{:<18}{:>14}{}{:>12}{:>12}{}{}{:>8}\n", what, "peak", column(budgeted, "least"),
                  "added time", "a step", column(waits, "bubble"), column(sends, "sent"), "fits");
  const auto bytes = [](const nlohmann::json &row, const char *key) {
    return formatBytes(row.value(key, int64_t(0)));
  };
  for (const nlohmann::json &row : rows)
    text +=
        fmt::format("{:<18}{:>14}{}{:>11.1f}%{:>10.3g} s{}{}{:>8}\n", row["name"].get<std::string>(),
                    bytes(row, "peak_bytes"), column(budgeted, bytes(row, "smallest_feasible_bytes")),
                    100 * row["overhead"].get<double>(), row["step_seconds"].get<double>(),
                    column(waits, fmt::format("{:.1f}%", 100 * row.value("bubble", 0.0))),
                    column(sends, bytes(row, "communication_bytes")), row["fits"].get<bool>() ? "yes" : "no");
  return text;
}

std::string compareNote(const CompileOptions &options) {
  if (!options.memory.plan.budget.isGiven())
    return "";
  return "\nWith a budget the planner computes again no more than it must, so plans fill the budget, and a "
         "row that needs fewer bytes\n"
         "may have the higher peak. 'least' is the smallest budget that the row's options fit into.\n";
}

} // namespace kedge::driver
