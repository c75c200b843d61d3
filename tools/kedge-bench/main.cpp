// kedge-bench: solvers and steps on benchmark inputs.
#include "Commands.h"
#include <cstdio>

int main(int argc, char **argv) {
  CLI::App app("Runs Kedge's solvers and compiled steps on benchmark inputs.", "kedge-bench");
  app.require_subcommand(1);
  kedge::bench::addArenaCommand(app);
  kedge::bench::addRematCommand(app);
  kedge::bench::addCalibrateCommand(app);
  kedge::bench::addStepCommand(app);
  kedge::bench::addTuneCommand(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 1;
  } catch (const std::exception &error) {
    fprintf(stderr, "kedge-bench: error: %s\n", error.what());
    return 1;
  }
}
