// Finds options that would have no effect in this run.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Schedule.h"

namespace kedge::rt {

/// Throws rt::RuntimeError that names such an option and what it needs. The run begins at step `first`.
void checkEffects(const Options &options, const RunScalars &scalars, const CompiledOptions &program,
                  int64_t first);

/// What to warn of where a run goes on at `step`: steps that stretch the schedule of before, so that a rate
/// that had fallen rises again. Empty: nothing.
std::string aboutStretched(const RunScalars &now, const RunScalars &before, int64_t step);

/// What to warn of: a rate that never gets where the options lead it. Empty: nothing.
std::string aboutSchedule(const RunScalars &scalars);

} // namespace kedge::rt
