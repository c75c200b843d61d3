// --ranks N,M: a program that holds a plan for each number of ranks, and takes that of the world it is started in.
#pragma once
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

/// Compiles for each number, links one program at `options.output`. Exit code: 0, or 2 when one fits no budget, which is
/// told, and nothing is written.
int compileWorlds(const CompileOptions &options);

} // namespace kedge::driver
