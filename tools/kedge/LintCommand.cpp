// kedge lint MODEL: what would train wrongly, silently.
#include "driver/Plugins.h"
#include "lib/Import/LintOps.h"
#include "lib/Support/Reporter.h"
#include "runtime/program/NumberFlags.h"
#include "tools/flags/ModelFlags.h"
#include "tools/kedge/Commands.h"
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

/// One word as a shell takes it.
std::string quoted(const std::string &word) {
  const bool plain = word.find_first_of(" \t'\"\\$`*?[](){}|&;<>~#!\n") == std::string::npos;
  return plain && !word.empty() ? word : fmt::format("'{}'", word);
}

/// What compiles the file with the options that lint was given.
std::string compileCommand(const CLI::App &lint, const ModelOptions &options) {
  std::string text = "kedge compile " + quoted(options.model);
  for (const CLI::Option *option : lint.parse_order()) {
    const std::string name = option->get_name();
    if (!name.starts_with("--") || name == "--json" || name == "--verbose")
      continue;
    const bool flag = option->get_items_expected_max() == 0;
    for (const std::string &value : option->reduced_results())
      if (const std::string word =
              flag ? value == "true" ? name : quoted(name + "=" + value) : name + " " + quoted(value);
          (text + " ").find(" " + word + " ") == std::string::npos)
        text += " " + word;
  }
  return text;
}

int runLint(const CLI::App &command, const ModelOptions &options, bool json, bool all) {
  mlir::MLIRContext context(driver::dialectsWith(options.plugins), mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  model::Model model = model::loadModel(options.model, {.requireExternalData = false});
  const std::vector<std::string> leftOut = importer::settleForTraining(model, options.settled(), context);
  lint::Report report = lint::prepare(model, options.lintOptions(), importer::lintOperators(context));
  report.remarks.insert(report.remarks.end(), leftOut.begin(), leftOut.end());
  lint::TextOptions text = terminalOptions();
  text.all = all;
  text.command = compileCommand(command, options);
  std::string said = json ? lint::toJson(report) : lint::toText(report, model, text);
  reporter().answer(said);
  return report.hasErrors() ? 2 : 0;
}
} // namespace

void addLintCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("lint", "report what would train wrongly, silently");
  auto options = std::make_shared<ModelOptions>();
  auto json = std::make_shared<bool>(false), all = std::make_shared<bool>(false);
  options->compiles = false;
  addModelOptions(*command, *options);
  rt::checkNumbers(*command);
  command->add_flag("--json", *json, "findings and the verdict on every initializer, for machines");
  command->add_flag("-v,--verbose", *all, "all findings of a kind; else three examples and their number");
  command->callback([=, &exitCode] { exitCode = runLint(*command, *options, *json, *all); });
}

} // namespace kedge::tool
