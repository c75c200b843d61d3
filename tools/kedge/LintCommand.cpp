// kedge lint MODEL: what would train wrongly, silently.
#include "lib/Dialect/Registration.h"
#include "lib/Import/LintOps.h"
#include "runtime/program/NumberFlags.h"
#include "tools/kedge/Commands.h"
#include "tools/kedge/ModelFlags.h"
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace kedge::tool {

namespace {
lint::TextOptions terminalOptions() {
  lint::TextOptions text;
  if (!isatty(STDOUT_FILENO))
    return text;
  text.colour = !getenv("NO_COLOR");
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60)
    text.width = std::min<size_t>(size.ws_col, 120);
  return text;
}

int runLint(const ModelOptions &options, bool json) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  model::Model model = model::loadModel(options.model, {.requireExternalData = false});
  const std::vector<std::string> leftOut = importer::settleForTraining(model, options.settled(), context);
  lint::Report report = lint::prepare(model, options.lintOptions(), importer::lintOperators(context));
  report.remarks.insert(report.remarks.end(), leftOut.begin(), leftOut.end());
  std::string text = json ? lint::toJson(report) : lint::toText(report, model, terminalOptions());
  fwrite(text.data(), 1, text.size(), stdout);
  return report.hasErrors() ? 2 : 0;
}
} // namespace

void addLintCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("lint", "report what would train wrongly, silently");
  auto options = std::make_shared<ModelOptions>();
  auto json = std::make_shared<bool>(false);
  addModelOptions(*command, *options);
  rt::checkNumbers(*command);
  command->add_flag("--json", *json, "findings and the verdict on every initializer, for machines");
  command->callback([=, &exitCode] { exitCode = runLint(*options, *json); });
}

} // namespace kedge::tool
