// What is wrong with a command line, and what was probably meant.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace kedge::rt {

/// Of the arguments that `app` has just refused.
std::string describeParseError(const CLI::App &app, const CLI::ParseError &error, int argc, char **argv);

} // namespace kedge::rt
