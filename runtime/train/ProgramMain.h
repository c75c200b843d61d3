// The main function of compiled programs.
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Runs a compiled program. On failure prints "kedge: error: ..."
/// and returns 1. After a signal returns 130 or 143; otherwise 0.
int programMain(int argc, char **argv, const ProgramImage &image);

} // namespace kedge::rt
