// The command line of compiled programs.
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Everything a compiled program does. Prints "kedge: error: ..." and returns 1 on failure, 130 or 143 after
/// a signal, else 0.
int programMain(int argc, char **argv, const ProgramImage &image);

} // namespace kedge::rt
