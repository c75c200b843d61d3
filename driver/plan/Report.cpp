#include "driver/plan/Report.h"
#include "driver/options/ProgramOptions.h"
#include "driver/why/AllAnswers.h"
#include "driver/why/Named.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/Error.h"
#include <filesystem>
#include <fstream>

namespace kedge::driver {
namespace {
std::string endingOf(const std::string &path) { return std::filesystem::path(path).extension().string(); }
bool isPage(const CompileOptions &options) { return endingOf(options.output.report) == ".html"; }
} // namespace

void checkReportFile(const std::string &path) {
  checkFolder("--report", path);
  if (!path.empty() && endingOf(path) != ".json" && endingOf(path) != ".html")
    fail("--report {}: expected FILE.json or FILE.html", path);
}

ValueChooser pricedForPage(const CompileOptions &options) {
  if (!isPage(options))
    return {};
  return [](mlir::ModuleOp module, const model::Model &) {
    pipelines::PricedValues priced;
    for (const PlannedValue &value : plannedValues(sched::PricesNote(module.getContext()).getAttr(module)))
      priced.numbers.push_back(value.id());
    return priced;
  };
}

void writeReport(Compilation &compilation, const CompileOptions &options) {
  if (!options.output.report.empty())
    writeReport(compilation.report(), compilation, options);
}

void addToReport(Compilation &compilation, const CompileOptions &options, const nlohmann::json &ofCache) {
  if (!options.output.report.empty() && !isPage(options) && !ofCache.is_null())
    writeReport(compilation.report(), compilation, options, ofCache);
}

void addToReport(const CompileOptions &options, const char *key, const nlohmann::json &value) {
  if (options.output.report.empty() || isPage(options) || !std::filesystem::exists(options.output.report))
    return;
  nlohmann::json report = nlohmann::json::parse(std::ifstream(options.output.report));
  report[key] = value;
  writeText(options.output.report, report.dump(2) + "\n");
}

void writeReport(nlohmann::json report, Compilation &compilation, const CompileOptions &options,
                 const nlohmann::json &ofCache) {
  if (options.output.report.empty())
    return;
  if (!ofCache.is_null())
    report["kernel_cache"] = ofCache;
  if (!isPage(options))
    return writeText(options.output.report, report.dump(2) + "\n");
  const nlohmann::json answers = compilation.prices() ? allAnswers(compilation, options) : nlohmann::json();
  writeText(options.output.report,
            exporter::planPage(report, answers, compilation.module(), options.model.model));
}

} // namespace kedge::driver
