// Checks, before the first step, what must be equal on all ranks.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/io/ReadFiles.h"
#include "runtime/program/Options.h"
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Throws AgreedError that names the first rank whose program or options differ from those of rank 0.
void checkSameProgram(Communicator *ranks, const ProgramImage &image, const Options &options);

/// The same for numbers of rows; 0: no such data.
void checkSameData(Communicator *ranks, int64_t rows, int64_t evaluationRows);

/// Throws on all ranks unless every file that rank 0 and another rank have read under one path is the same,
/// byte by byte. Only files that are not one and the same on the disk are read for that.
void checkSameFiles(Communicator *ranks, const ReadFiles &read);

} // namespace kedge::rt
