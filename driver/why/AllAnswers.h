// What kedge why answers about each value and state of a plan, for the page of --report FILE.html.
#pragma once
#include "driver/Compilation.h"

namespace kedge::driver {

/// {"plan", "turns": {FUNCTION: [launch, ...]}, "values": [...], "states": [{"tensor", "meaning", "state"},
/// ...]}: entries as why() makes them, but launches by their numbers in `turns`.
nlohmann::json allAnswers(Compilation &compilation, const CompileOptions &options);

} // namespace kedge::driver
