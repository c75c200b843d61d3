// A command line that --save-ir keeps, and one that goes on from such a file.
#pragma once
#include "tools/flags/CompileFlags.h"

namespace kedge::tool {

/// What was given to `command`, but for where its results go.
driver::SavedArguments argumentsOf(const CLI::App &command);
/// The options of the command that saved the file, and those given now (`command` was parsed for MODEL.mlir),
/// which may only say what later phases do.
CompileOptions resumedOptions(const CLI::App &command, const CompileOptions &given);

} // namespace kedge::tool
