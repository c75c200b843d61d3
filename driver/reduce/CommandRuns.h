// A command of the user's that is run again and again.
#pragma once
#include "lib/Support/ToolRun.h"

namespace kedge::driver {

/// Runs `command` by /bin/sh, with `{}` replaced by `model`. Throws kedge::Error when the shell cannot be
/// started.
ToolEnding runCommand(const std::string &command, const std::string &model, const TemporaryFolder &folder);

} // namespace kedge::driver
