// kedge: lint an ONNX model, plan its training, compile it to a program.
#include "lib/Support/Error.h"
#include "lib/Support/Progress.h"
#include "runtime/program/ParseErrors.h"
#include "tools/CommandLine.h"
#include "tools/Mains.h"
#include "tools/flags/ModelFlags.h"
#include "tools/kedge/Commands.h"
#include <algorithm>
#include <new>

int kedge::tool::kedgeMain(int argc, char **argv) {
  using namespace kedge::tool;
  prepareProcess();
  kedge::showProgressOnTerminal();
  CLI::App app("Kedge compiles ONNX models into native training programs.", "kedge");
  addVersion(app);
  app.require_subcommand(1);
  int exitCode = 0;
  kedge::tool::addLintCommand(app, exitCode);
  kedge::tool::addPlanCommand(app, exitCode);
  kedge::tool::addCompileCommand(app, exitCode);
  kedge::tool::addShardCommand(app, exitCode);
  kedge::tool::addWhyCommand(app, exitCode);
  kedge::tool::addDiffCommand(app, exitCode);
  kedge::tool::addReduceCommand(app, exitCode);
  kedge::tool::addTokensCommand(app, exitCode);
  kedge::tool::addDataCommand(app, exitCode);
  kedge::tool::addShapesCommand(app, exitCode);
  for (CLI::App *command : app.get_subcommands({}))
    addVersion(*command)->group("");
  try {
    std::vector<std::string> words = repeatShape(argc, argv);
    kedge::rt::refuseEmptyValues(app, words);
    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    app.parse(std::move(words));
    return withOutput("kedge", exitCode);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return sayError("kedge", kedge::rt::describeParseError(app, error, argc, argv));
    return withOutput("kedge", app.exit(error));
  } catch (const std::bad_alloc &) {
    return sayError("kedge", "out of memory");
  } catch (const std::exception &error) {
    return sayError("kedge", error.what());
  }
}
