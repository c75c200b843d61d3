// What a run writes must be nothing that it reads, and nothing that it writes twice.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Throws rt::Error that names both options, also where links lead from one to the other.
void checkOutputFiles(const Options &options, const Program &program);

} // namespace kedge::rt
