// From loaded states to a run that can step.
#pragma once
#include "runtime/train/Checkpoint.h"

namespace kedge::rt {

/// Sets the loss scale (`checkpoint`: where the run goes on from; null at its start), writes the scalars, and runs what the
/// program does before its first step. Returns what steps scale their loss with.
std::unique_ptr<LossScaler> beginRun(Executor &executor, const RunScalars &scalars, const Progress &progress, const World &world,
                                     const Checkpoint *checkpoint);

/// Makes anew what the program derives from its states: the 16-bit forms of parameters.
void restoreDerived(Executor &executor, const RunScalars &scalars, const Progress &progress, const World &world);

} // namespace kedge::rt
