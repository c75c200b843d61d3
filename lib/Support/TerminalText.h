// A message as tools write it to standard error.
#pragma once
#include "lib/Support/Reporter.h"

namespace kedge {

/// "TOOL: warning: TEXT" and the end of the line; what a terminal would obey is escaped.
std::string terminalText(const std::string &tool, const Message &message);

} // namespace kedge
