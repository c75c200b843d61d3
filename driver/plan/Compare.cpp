#include "driver/plan/Compare.h"
#include "driver/Compilation.h"
#include "lib/Support/MemoryBudget.h"
#include <fmt/format.h>

namespace kedge::driver {
namespace {

nlohmann::json rowOf(const std::string &name, const CompileOptions &options) {
  Compilation compilation(options);
  compilation.import();
  compilation.step();
  compilation.schedule();
  compilation.plan();
  nlohmann::json report = compilation.report();
  nlohmann::json row = {{"name", name},
                        {"precision", options.precision},
                        {"peak_bytes", report["peak_bytes"]},
                        {"overhead", report["recompute"]["overhead"]},
                        {"fits", report["fits"]},
                        {"step_seconds", report.value("step_seconds", nlohmann::json())}};
  if (!severalRanks(options))
    return row;
  row["zero"] = options.zero;
  row["communication_seconds"] = report["communication_seconds"];
  int64_t sent = 0;
  for (const nlohmann::json &entry : report["communication"])
    sent += entry["bytes"].get<int64_t>();
  row["communication_bytes"] = sent;
  return row;
}

CompileOptions trialOf(const CompileOptions &options) {
  CompileOptions trial = options;
  trial.isTrial = true;
  return trial;
}

nlohmann::json policyRow(const CompileOptions &options, const std::string &policy) {
  CompileOptions changed = trialOf(options);
  changed.recompute = policy == "offload" ? "none" : policy;
  if (policy == "offload" && !options.offloads("activations"))
    changed.offload.push_back("activations");
  return rowOf(policy, changed);
}

/// The first 16-bit precision that was asked for; bf16 when none was.
std::string narrowOf(const CompileOptions &options) {
  for (const std::string &precision : options.precisions)
    if (precision != "fp32")
      return precision;
  return "bf16";
}

} // namespace

bool severalRanks(const CompileOptions &options) { return options.model.ranks.front() > 1; }

nlohmann::json comparePolicies(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char *policy : {"none", "full", "sqrt", "attention", "offload"})
    rows.push_back(policyRow(options, policy));
  // Without a budget, auto recomputes nothing.
  rows.push_back(policyRow(options, "auto"));
  return rows;
}

nlohmann::json comparePrecisions(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string &precision : options.precisions) {
    CompileOptions changed = trialOf(options);
    changed.precision = precision;
    rows.push_back(rowOf(precision, changed));
  }
  return rows;
}

nlohmann::json compareTuning(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  CompileOptions changed = trialOf(options);
  changed.model.adapters = {};
  rows.push_back(rowOf("all parameters", changed));
  changed.model.adapters = options.model.adapters;
  changed.model.adapters.quantize.clear();
  changed.model.adapters.doubleQuantize = false;
  rows.push_back(rowOf("adapters", changed));
  if (options.model.adapters.quantize.empty())
    return rows;
  changed.model.adapters = options.model.adapters;
  rows.push_back(rowOf("+ few bits", changed));
  return rows;
}

nlohmann::json compareStages(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  // Weights without masters are whole on every rank.
  const int64_t last = options.masterWeights == "off" ? 0 : 3;
  for (int64_t stage = 0; stage <= last; ++stage) {
    CompileOptions changed = trialOf(options);
    changed.zero = stage;
    rows.push_back(rowOf(fmt::format("zero {}", stage), changed));
  }
  return rows;
}

nlohmann::json compareSteps(const CompileOptions &options) {
  CompileOptions changed = trialOf(options);
  changed.precision = "fp32", changed.recompute = "none", changed.zero = 0;
  changed.offload.clear();
  changed.masterWeights = "on";
  nlohmann::json rows = nlohmann::json::array({rowOf("baseline", changed)});
  changed.recompute = "full";
  rows.push_back(rowOf("+ recompute", changed));
  changed.precision = narrowOf(options);
  rows.push_back(rowOf("+ " + changed.precision, changed));
  changed.zero = 2;
  rows.push_back(rowOf("+ zero 2", changed));
  changed.zero = 3, changed.offload = {"optimizer", "params"};
  rows.push_back(rowOf("+ zero 3, offload", changed));
  return rows;
}

std::string compareText(const char *what, const nlohmann::json &rows) {
  const bool sends = !rows.empty() && rows.front().contains("communication_bytes");
  std::string text = fmt::format("{:<18}{:>14}{:>12}{:>12}{}{:>8}\n", what, "peak", "more time", "a step",
                                 sends ? fmt::format("{:>14}", "sent") : "", "fits");
  for (const nlohmann::json &row : rows)
    text += fmt::format("{:<18}{:>14}{:>11.1f}%{:>10.3g} s{}{:>8}\n", row["name"].get<std::string>(),
                        formatBytes(row["peak_bytes"].get<int64_t>()), 100 * row["overhead"].get<double>(),
                        row["step_seconds"].get<double>(),
                        sends ? fmt::format("{:>14}", formatBytes(row["communication_bytes"].get<int64_t>())) : "",
                        row["fits"].get<bool>() ? "yes" : "no");
  return text;
}

} // namespace kedge::driver
