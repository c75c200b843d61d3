// --auto of plan and compile.
#pragma once
#include "driver/joint/Joint.h"
#include <CLI/CLI.hpp>

namespace kedge::tool {

void addAutoOptions(CLI::App &command, driver::CompileOptions &options);
/// Of a command that shares the options of compile, and chooses nothing.
void removeAutoOptions(CLI::App &command);
/// Once all is parsed: which options are fixed.
void resolveAuto(const CLI::App &command, driver::CompileOptions &options);

} // namespace kedge::tool
