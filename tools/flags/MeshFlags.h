// --mesh and its short forms.
#pragma once
#include "driver/options/CompileOptions.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

void addMeshOptions(CLI::App &command, driver::CompileOptions &options);
/// Once all is parsed: the mesh with all of its axes, its ranks, and their parts of the rows. Throws
/// kedge::Error when they do not fit each other.
void resolveMesh(const CLI::App &command, driver::CompileOptions &options);

/// --rank, for commands that tell about one plan of several.
void addRankOption(CLI::App &command, driver::CompileOptions &options);

} // namespace kedge::tool
