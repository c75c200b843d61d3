// kedge-bench: solvers and steps on benchmark inputs.
#include "runtime/program/ParseErrors.h"
#include "tools/CommandLine.h"
#include "tools/Mains.h"
#include "tools/kedge-bench/Commands.h"

int kedge::tool::benchMain(int argc, char **argv) {
  using namespace kedge::tool;
  prepareProcess();
  CLI::App app("Runs Kedge's solvers and compiled steps on benchmark inputs.", "kedge-bench");
  addVersion(app);
  app.require_subcommand(1);
  kedge::bench::addArenaCommand(app);
  kedge::bench::addRematCommand(app);
  kedge::bench::addShardCommand(app);
  kedge::bench::addCalibrateCommand(app);
  kedge::bench::addStepCommand(app);
  kedge::bench::addTuneCommand(app);
  try {
    checkOutputArgument(argc, argv, {"-o", "--output"});
    kedge::rt::refuseEmptyValues(app, {argv + 1, argv + argc});
    app.parse(argc, argv);
    return withOutput("kedge-bench", 0);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return sayError("kedge-bench", kedge::rt::describeParseError(app, error, argc, argv));
    return withOutput("kedge-bench", app.exit(error));
  } catch (const std::exception &error) {
    return sayError("kedge-bench", error.what());
  }
}
