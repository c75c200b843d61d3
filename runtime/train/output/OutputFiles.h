// Checks that a run does not overwrite files that it reads, and writes no file twice.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Throws rt::RuntimeError that names the two options. Also finds files that are the same through links.
void checkOutputFiles(const Options &options, const Program &program);

} // namespace kedge::rt
