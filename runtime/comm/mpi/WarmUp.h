// MPI allocates requests and fragments when messages first need them. This makes it do so before the first
// step.
#pragma once
#include "runtime/comm/mpi/Mpi.h"
#include "runtime/program/World.h"

namespace kedge::rt::mpi {

/// Exchanges more messages at a time with every other rank than a step ever has pending.
void warmUp(const Mpi &mpi, const World &world);

} // namespace kedge::rt::mpi
