// What must be the same on all ranks before the first step.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/program/Options.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Throws AgreedError that names the first rank with another program, or other options, than rank 0.
void checkSameProgram(Communicator *ranks, const ProgramImage &image, const Options &options);

/// The same of numbers of rows; 0: no such data.
void checkSameData(Communicator *ranks, int64_t rows, int64_t evaluationRows);

} // namespace kedge::rt
