// --shape: sizes of inputs, and of the same input in several buckets.
#pragma once
#include "driver/options/ModelOptions.h"
#include <string>
#include <utility>
#include <vector>

namespace kedge::tool {

/// "input_ids=8x1024" -> name and sizes; nothing behind '=' is a scalar. Throws kedge::Error.
std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text);

/// Each as above, or with sizes in {}, as "input_ids=8x{128,512}": one shape for each of them. Throws
/// kedge::Error, also where shapes do not go together.
void parseShapes(const std::vector<std::string> &texts, driver::ModelOptions &options);

} // namespace kedge::tool
