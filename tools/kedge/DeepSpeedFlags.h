// A command line with the options of its --deepspeed-config.
#pragma once
#include "tools/flags/CompileFlags.h"

namespace kedge::tool {

/// `given`, that `command` was parsed into, with what its DeepSpeed configuration adds; a line for each of
/// the file's keys goes to stderr. `given` itself without such a file.
CompileOptions withDeepSpeedConfig(const CLI::App &command, const CompileOptions &given);

} // namespace kedge::tool
