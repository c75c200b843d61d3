// Flags of the model: lint, plan and compile have them.
#pragma once
#include "driver/ModelOptions.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

using driver::ModelOptions;

/// Adds MODEL and all options above to a subcommand.
void addModelOptions(CLI::App &command, ModelOptions &options);

/// "input_ids=8x1024" -> name and sizes; nothing behind '=' is a scalar. Throws kedge::Error.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

} // namespace kedge::tool
