// Flags of the model: lint, plan and compile have them.
#pragma once
#include "driver/options/ModelOptions.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

using driver::ModelOptions;

/// Adds MODEL and all options above to a subcommand.
void addModelOptions(CLI::App &command, ModelOptions &options);

/// The words of a command line, with `--shape a=1x2 b=3` as `--shape a=1x2 --shape b=3`: the model's file may
/// stand behind. `--train-mode REGEX` becomes `--train-mode=REGEX`, unless the word is a file.
std::vector<std::string> repeatShape(int argc, char **argv);

} // namespace kedge::tool
