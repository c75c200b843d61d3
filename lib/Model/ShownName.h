// Names of files in messages: those of hostile files have bytes that end or flood them.
#pragma once
#include <string>
#include <string_view>

namespace kedge::model {

/// Without a NUL, and of a long one its beginning and its length.
std::string shownName(std::string_view name);

} // namespace kedge::model
