// kedge: lint an ONNX model, plan its training, compile it to a program.
#include "Commands.h"
#include "kedge/Support/Error.h"
#include <cstdio>

int main(int argc, char **argv) {
  CLI::App app("Kedge compiles ONNX models into native training programs.", "kedge");
  app.require_subcommand(1);
  int exitCode = 0;
  kedge::tool::addLintCommand(app, exitCode);
  kedge::tool::addPlanCommand(app, exitCode);
  kedge::tool::addCompileCommand(app, exitCode);
  try {
    app.parse(argc, argv);
    return exitCode;
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 1;
  } catch (const std::exception &error) {
    fprintf(stderr, "kedge: error: %s\n", error.what());
    return 1;
  }
}
