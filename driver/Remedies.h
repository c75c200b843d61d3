// What to do about a step that does not fit.
#pragma once
#include "driver/options/CompileOptions.h"
#include <string>

namespace kedge::driver {

/// Plans single changes of the options within the same budget, and tells the three that fit with the quickest
/// steps, each with its peak and its price. Notes of these plans are not printed. Empty where there is no
/// memory budget.
std::string remediesText(const CompileOptions &options);

} // namespace kedge::driver
