// What does not go together yet with ranks that have experts of their own.
#pragma once
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

/// "--target cuda is not available yet with an axis 'expert'; expected cpu"; empty: nothing stands against
/// it.
std::string whyNoExpertAxis(const CompileOptions &options);

} // namespace kedge::driver
