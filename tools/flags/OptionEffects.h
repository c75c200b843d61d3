// Options that would do nothing beside the others that were given.
#pragma once
#include "driver/options/CompileOptions.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

/// Throws kedge::Error that names an option without effect, and what it needs. For options that one command
/// line holds as a whole.
void checkEffects(const CLI::App &command, const driver::CompileOptions &options);

} // namespace kedge::tool
