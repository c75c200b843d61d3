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

} // namespace kedge::tool
