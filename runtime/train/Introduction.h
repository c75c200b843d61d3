// What a program says that is started without arguments.
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// What it trains, what it reads, and a command to begin with. `command`: as the program was called.
std::string introduction(const Program &program, const std::string &command);

} // namespace kedge::rt
