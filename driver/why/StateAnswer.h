// What kedge why says of a parameter or another state.
#pragma once
#include "driver/Compilation.h"

namespace kedge::driver {

/// Its copies, its gradient, who reads, updates and gathers it, and what sharding it would save and cost.
nlohmann::json stateAnswer(const std::string &symbol, Compilation &compilation,
                           const CompileOptions &options);

} // namespace kedge::driver
