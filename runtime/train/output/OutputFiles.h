// Checks that a run does not overwrite files that it reads, writes no file twice, and can write them all.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Throws rt::RuntimeError that names the two options. Also finds files that are the same through links.
void checkOutputFiles(const Options &options, const Program &program);

/// Throws the error that the run would end with, where it is known before the first step: an output is a
/// folder, a pipe or a device, or its folder takes no files. `writes`: this rank writes them.
void checkOutputsWritable(const Options &options, const Program &program, bool writes);

} // namespace kedge::rt
