// kedge: lint an ONNX model, plan its training, compile it to a program.
#include "lib/Support/Error.h"
#include "runtime/program/ParseErrors.h"
#include "tools/CommandLine.h"
#include "tools/Mains.h"
#include "tools/flags/ModelFlags.h"
#include "tools/kedge/Commands.h"
#include <algorithm>
#include <new>
#include <sstream>

namespace kedge::tool {
namespace {

void addCommands(CLI::App &app, int &exitCode) {
  addVersion(app);
  app.require_subcommand(1);
  addLintCommand(app, exitCode);
  addPlanCommand(app, exitCode);
  addCompileCommand(app, exitCode);
  addShardCommand(app, exitCode);
  addWhyCommand(app, exitCode);
  addDiffCommand(app, exitCode);
  addReduceCommand(app, exitCode);
  addTokensCommand(app, exitCode);
  addDataCommand(app, exitCode);
  addShapesCommand(app, exitCode);
  addArtifactsCommand(app, exitCode);
  for (CLI::App *command : app.get_subcommands({}))
    addVersion(*command)->group("");
}

int sayError(const std::string &text) {
  reporter().say({Severity::Error, text, "", ""});
  return 1;
}

/// --help and --version, which CLI11 throws.
int answered(const CLI::App &app, const CLI::ParseError &request) {
  std::ostringstream text, errors;
  const int code = app.exit(request, text, errors);
  reporter().answer(text.str());
  return code;
}

} // namespace

int runCommand(int argc, char **argv) {
  CLI::App app("Kedge compiles ONNX models into native training programs.", "kedge");
  int exitCode = 0;
  addCommands(app, exitCode);
  try {
    std::vector<std::string> words = repeatShape(argc, argv);
    rt::refuseEmptyValues(app, words);
    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    app.parse(std::move(words));
    return exitCode;
  } catch (const CLI::ParseError &error) {
    return error.get_exit_code() != 0 ? sayError(rt::describeParseError(app, error, argc, argv))
                                      : answered(app, error);
  } catch (const std::bad_alloc &) {
    return sayError("out of memory");
  } catch (const std::exception &error) {
    return sayError(error.what());
  }
}

int kedgeMain(int argc, char **argv) {
  prepareProcess(true);
  return withOutput("kedge", runCommand(argc, argv));
}

} // namespace kedge::tool
