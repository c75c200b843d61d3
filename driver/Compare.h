// plan --compare: the same model under each way to save memory, and in each of several precisions.
#pragma once
#include "driver/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// One object a policy (none, full, sqrt, attention, offload, and auto at the budget, if there is one): name, precision,
/// peak_bytes, overhead (share of the step's predicted time), fits, step_seconds. Plans the model once for each.
nlohmann::json comparePolicies(const CompileOptions &options);

/// The same for each of `options.precisions`, which names the row, with everything else as given.
nlohmann::json comparePrecisions(const CompileOptions &options);

/// The same as a table; `what` heads the column of names.
std::string compareText(const char *what, const nlohmann::json &rows);

} // namespace kedge::driver
