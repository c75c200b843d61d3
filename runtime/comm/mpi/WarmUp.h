// MPI makes its lists of requests and fragments as messages need them; steps shall find them made.
#pragma once
#include "runtime/comm/mpi/Mpi.h"
#include "runtime/program/World.h"

namespace kedge::rt::mpi {

/// Exchanges bursts of messages with every other rank, more at a time than a step has under way.
void warmUp(const Mpi &mpi, const World &world);

} // namespace kedge::rt::mpi
