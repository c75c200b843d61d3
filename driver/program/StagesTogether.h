// The programs of a pipeline's stages, checked as one: who sends what to whom, in which order.
#pragma once
#include "driver/options/ModelOptions.h"
#include <string>
#include <vector>

namespace kedge::driver {

/// Texts of modules with `dist.mesh` and `dist.ranks`. Throws kedge::Error where ranks would wait for each
/// other.
void checkTogether(const std::vector<std::string> &programs, const ModelOptions &model);

} // namespace kedge::driver
