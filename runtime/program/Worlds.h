// Programs with a plan for each of several numbers of ranks (kedge compile --ranks N,M).
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// The part of `image` for this number of ranks, or the first part if there is none
/// (checkWorldSize then reports an error). If `image` is a single program, `image` itself.
ProgramImage imageFor(const ProgramImage &image, int64_t ranks);

} // namespace kedge::rt
