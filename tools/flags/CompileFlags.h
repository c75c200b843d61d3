// Flags of plan and compile beyond the model's.
#pragma once
#include "driver/options/CompileOptions.h"
#include "tools/flags/ModelFlags.h"

namespace kedge::tool {

using driver::CompileOptions;

/// Adds every option of plan and compile.
void addCompileOptions(CLI::App &command, CompileOptions &options);
/// Adds what only compile takes: where the program goes and what is in it.
void addProgramOptions(CLI::App &command, CompileOptions &options);

} // namespace kedge::tool
