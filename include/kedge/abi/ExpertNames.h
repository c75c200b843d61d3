// What a program says of its experts, by name.
#pragma once
#include <string_view>

namespace kedge::abi {

/// How the results of @step are called that count the places of each expert, by layer: "experts.h.0.mlp".
inline constexpr std::string_view kExpertsPrefix = "experts.";

} // namespace kedge::abi
