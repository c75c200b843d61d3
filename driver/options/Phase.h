// The phases of a compilation.
#pragma once

namespace kedge::driver {

/// Phases in order, by the names that the files have.
enum class Phase { None = -1, Import, Model, Step, Schedule, Rematerialize, Exec };
constexpr Phase kPhases[] = {Phase::Import,   Phase::Model,         Phase::Step,
                             Phase::Schedule, Phase::Rematerialize, Phase::Exec};
const char *nameOf(Phase phase);

} // namespace kedge::driver
