#include "driver/Compare.h"
#include "driver/Compilation.h"
#include "kedge/Support/MemoryBudget.h"
#include <fmt/format.h>

namespace kedge::driver {
namespace {

nlohmann::json rowOf(const CompileOptions &options, const std::string &policy) {
  CompileOptions changed = options;
  changed.recompute = policy == "offload" ? "none" : policy;
  if (policy == "offload" && !options.offloads("activations"))
    changed.offload.push_back("activations");
  changed.isTrial = true;
  Compilation compilation(changed);
  compilation.import();
  compilation.step();
  compilation.schedule();
  compilation.plan();
  nlohmann::json report = compilation.report();
  return {{"name", policy},
          {"peak_bytes", report["peak_bytes"]},
          {"overhead", report["recompute"]["overhead"]},
          {"fits", report["fits"]},
          {"step_seconds", report.value("step_seconds", nlohmann::json())}};
}

} // namespace

nlohmann::json comparePolicies(const CompileOptions &options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char *policy : {"none", "full", "sqrt", "attention", "offload"})
    rows.push_back(rowOf(options, policy));
  // Without a budget there is nothing for it to fit, and it keeps everything.
  rows.push_back(rowOf(options, "auto"));
  return rows;
}

std::string compareText(const nlohmann::json &rows) {
  std::string text = fmt::format("{:<12}{:>14}{:>12}{:>8}\n", "recompute", "peak", "more time", "fits");
  for (const nlohmann::json &row : rows)
    text += fmt::format("{:<12}{:>14}{:>11.1f}%{:>8}\n", row["name"].get<std::string>(),
                        formatBytes(row["peak_bytes"].get<int64_t>()), 100 * row["overhead"].get<double>(),
                        row["fits"].get<bool>() ? "yes" : "no");
  return text;
}

} // namespace kedge::driver
