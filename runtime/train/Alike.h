// Checks, before the first step, what must be equal on all ranks.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/program/Options.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Throws AgreedError that names the first rank whose program or options differ from those of rank 0.
void checkSameProgram(Communicator *ranks, const ProgramImage &image, const Options &options);

/// The same for numbers of rows; 0: no such data.
void checkSameData(Communicator *ranks, int64_t rows, int64_t evaluationRows);

} // namespace kedge::rt
