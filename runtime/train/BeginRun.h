// Prepares a run for its first step, after states were loaded.
#pragma once
#include "runtime/train/checkpoint/Checkpoint.h"

namespace kedge::rt {

/// Sets the loss scale (from `checkpoint`, or null for a new run), writes the scalars, and
/// runs the functions that precede the first step. Returns the loss scaler for the steps.
std::unique_ptr<LossScaler> beginRun(Executor &executor, const RunScalars &scalars,
                                     const RunProgress &progress, const World &world,
                                     const Checkpoint *checkpoint);

/// Recomputes what the program derives from its states: the 16-bit copies of parameters.
void restoreDerived(Executor &executor, const RunScalars &scalars, const RunProgress &progress,
                    const World &world);

} // namespace kedge::rt
