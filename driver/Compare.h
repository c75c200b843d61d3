// plan --compare: the same model under each way to save memory.
#pragma once
#include "driver/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// One object a policy (none, full, sqrt, attention, and auto at the budget, if there is one): name, peak_bytes, overhead
/// (share of the step's predicted time), fits, step_seconds. Plans the model once for each.
nlohmann::json comparePolicies(const CompileOptions &options);

/// The same as a table.
std::string compareText(const nlohmann::json &rows);

} // namespace kedge::driver
