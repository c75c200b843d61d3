// Programs with a plan for each of several numbers of ranks (kedge compile --ranks N,M), or of ways to place
// them on machines
// (--replicas node).
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// The part of `image` for this number of ranks, or the first part if there is none
/// (checkWorldSize then reports an error). If `image` is a single program, `image` itself. Throws
/// rt::RuntimeError if copies are to be of machines and no plan is for `onMachine` ranks on each.
ProgramImage imageFor(const ProgramImage &image, int64_t ranks, int64_t onMachine, int64_t rank = 0);

} // namespace kedge::rt
