#include "driver/plan/Report.h"
#include "driver/options/ProgramOptions.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Support/Error.h"
#include <filesystem>

namespace kedge::driver {
namespace {
std::string endingOf(const std::string &path) { return std::filesystem::path(path).extension().string(); }
} // namespace

void checkReportFile(const std::string &path) {
  checkFolder("--report", path);
  if (!path.empty() && endingOf(path) != ".json" && endingOf(path) != ".html")
    fail("--report {}: expected FILE.json or FILE.html", path);
}

void writeReport(Compilation &compilation, const CompileOptions &options) {
  if (!options.report.empty())
    writeReport(compilation.report(), compilation.module(), options);
}

void writeReport(const nlohmann::json &report, mlir::ModuleOp module, const CompileOptions &options) {
  if (options.report.empty())
    return;
  bool isPage = endingOf(options.report) == ".html";
  writeText(options.report,
            isPage ? exporter::planPage(report, module, options.model.model) : report.dump(2) + "\n");
}

} // namespace kedge::driver
