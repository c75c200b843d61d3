// The subcommands. Each adds itself to the app; its callback leaves the exit code.
#pragma once
#include <CLI/CLI.hpp>

namespace kedge::tool {

void addLintCommand(CLI::App &app, int &exitCode);
void addPlanCommand(CLI::App &app, int &exitCode);
void addCompileCommand(CLI::App &app, int &exitCode);
void addShardCommand(CLI::App &app, int &exitCode);
void addWhyCommand(CLI::App &app, int &exitCode);
void addDiffCommand(CLI::App &app, int &exitCode);
void addReduceCommand(CLI::App &app, int &exitCode);
void addTokensCommand(CLI::App &app, int &exitCode);
void addDataCommand(CLI::App &app, int &exitCode);
void addShapesCommand(CLI::App &app, int &exitCode);
void addArtifactsCommand(CLI::App &app, int &exitCode);

/// `kedge WORDS...`, whose answers and messages go to the calling thread's reporter. Returns the exit code:
/// after an error 1.
int runCommand(int argc, char **argv);

/// `kedge compile IR -o program` of a file of --save-ir. Throws kedge::Error.
void compileSavedIr(const std::string &ir, const std::string &program);

} // namespace kedge::tool
