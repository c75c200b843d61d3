// Explains errors in a command line, and suggests what was probably meant.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace kedge::rt {

/// Describes why `app` rejected the arguments.
std::string describeParseError(const CLI::App &app, const CLI::ParseError &error, int argc, char **argv);

} // namespace kedge::rt
