// kedge plan MODEL: memory of a step, before running it.
#include "Commands.h"
#include "Compilation.h"
#include "ProgramOptions.h"
#include "Report.h"
#include "kedge/Export/PlanReport.h"
#include "kedge/Support/Error.h"
#include <cstdio>

namespace kedge::tool {
namespace {
int runPlan(const CompileOptions &options) {
  checkReportFile(options.report);
  checkFolder("--arena", options.arenaFile);
  Compilation compilation(options);
  compilation.import();
  compilation.step();
  compilation.schedule();
  compilation.plan();
  nlohmann::json report = compilation.report();
  if (!options.arenaFile.empty())
    writeText(options.arenaFile, arenaTable(compilation.module()));
  writeReport(compilation, options);
  std::string text = options.json ? report.dump(2) + "\n" : planText(report, compilation.module());
  fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
} // namespace

void addPlanCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("plan", "memory of a training step, before running it");
  auto options = std::make_shared<CompileOptions>();
  addCompileOptions(*command, *options);
  command->add_flag("--json", options->json, "the report for machines")->group("Output");
  command->add_option("--arena", options->arenaFile, "FILE.csv: every buffer's lifetime, size and offset")->group("Output");
  for (const char *name : {"--compare", "--max-batch"})
    command->add_flag_callback(name, [name] { fail("{} is not available yet", name); }, "not available yet")->group("Output");
  command->callback([=, &exitCode] { exitCode = runPlan(*options); });
}

} // namespace kedge::tool
