// Options of a run that would do nothing beside the others.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Schedule.h"

namespace kedge::rt {

/// Throws rt::Error that names an option without effect, and what it needs. The run begins at step `first`.
void checkEffects(const Options &options, const RunScalars &scalars, const CompileOptions &program, int64_t first);

} // namespace kedge::rt
