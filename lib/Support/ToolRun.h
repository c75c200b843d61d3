// Other programs that the compiler runs: a linker, ptxas.
#pragma once
#include "lib/Support/TemporaryFolder.h"
#include <string>
#include <vector>

namespace kedge {

struct ToolEnding {
  int status = 0;   ///< exit code; negative where a signal ended it
  std::string text; ///< what it said on both streams
};

/// Runs `words`, a path and its arguments, until it ends. Its temporary files go to `folder`, since not every
/// tool removes its own when a signal ends it. A signal that ends this process ends the tool and all that it
/// started. Throws if it cannot be started. Not for two threads at once.
ToolEnding runTool(const std::vector<std::string> &words, const TemporaryFolder &folder);

} // namespace kedge
