#pragma once
#include <string>

namespace kedge {

/// Replaces the file in one step: it is there whole or not at all. Throws kedge::Error.
void writeText(const std::string &path, const std::string &text);

} // namespace kedge
