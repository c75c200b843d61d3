#include "driver/Compare.h"
#include "driver/Compilation.h"
#include "kedge/Support/MemoryBudget.h"
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
  return {{"name", name},
          {"precision", options.precision},
          {"peak_bytes", report["peak_bytes"]},
          {"overhead", report["recompute"]["overhead"]},
          {"fits", report["fits"]},
          {"step_seconds", report.value("step_seconds", nlohmann::json())}};
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

} // namespace

nlohmann::json comparePolicies(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char *policy : {"none", "full", "sqrt", "attention", "offload"})
    rows.push_back(policyRow(options, policy));
  // Without a budget there is nothing for it to fit, and it keeps everything.
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

std::string compareText(const char *what, const nlohmann::json &rows) {
  std::string text = fmt::format("{:<12}{:>14}{:>12}{:>12}{:>8}\n", what, "peak", "more time", "a step", "fits");
  for (const nlohmann::json &row : rows)
    text += fmt::format("{:<12}{:>14}{:>11.1f}%{:>10.3g} s{:>8}\n", row["name"].get<std::string>(),
                        formatBytes(row["peak_bytes"].get<int64_t>()), 100 * row["overhead"].get<double>(),
                        row["step_seconds"].get<double>(), row["fits"].get<bool>() ? "yes" : "no");
  return text;
}

} // namespace kedge::driver
