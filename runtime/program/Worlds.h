// Programs that hold a plan for each of several numbers of ranks (kedge compile --ranks N,M).
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// The part of `image` that is for this many ranks; the first when none is (then checkWorldSize has an error to tell), and
/// `image` itself when it is one program.
ProgramImage imageFor(const ProgramImage &image, int64_t ranks);

} // namespace kedge::rt
