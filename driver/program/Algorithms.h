// --algorithms: which algorithms of a library compute a program's products.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace kedge::driver {

/// Throws rt::RuntimeError, naming file and entry, on what is no table.
void checkAlgorithms(const std::string &path);

/// Puts the entries of the table at `path` that concern the program's products into its target, of every
/// device and library version, and prints a note about how many products have one. Throws as checkAlgorithms
/// does.
void embedAlgorithms(const std::string &path, nlohmann::json &program);

} // namespace kedge::driver
