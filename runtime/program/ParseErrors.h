// Explains errors in a command line, and suggests what was probably meant.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace kedge::rt {

/// Throws rt::RuntimeError that names the option if a value is empty, as that of an unset variable of a shell
/// is: CLI11 and who reads the value take it for one that was not given. `words`: the arguments of `app`.
void refuseEmptyValues(const CLI::App &app, const std::vector<std::string> &words);

/// Describes why `app` rejected the arguments.
std::string describeParseError(const CLI::App &app, const CLI::ParseError &error, int argc, char **argv);

} // namespace kedge::rt
