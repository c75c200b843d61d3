#include "tools/kedge/DeepSpeedFlags.h"
#include "driver/deepspeed/DeepSpeedConfig.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "tools/kedge/SavedCommand.h"
#include <algorithm>

namespace kedge::tool {

using driver::SavedArguments;

namespace {

/// Options are parsed as if they had been typed: their checks hold, and what was typed before stays.
void parseAlso(const SavedArguments &added, CompileOptions &options) {
  CLI::App again;
  addCompileOptions(again, options);
  std::vector<std::string> words = {options.model.model};
  for (const auto &[flag, values] : added)
    words.push_back(values.front().empty() ? flag : flag + "=" + values.front());
  std::reverse(words.begin(), words.end()); // as CLI11 takes them
  try {
    again.parse(words);
  } catch (const CLI::ParseError &error) {
    fail("--deepspeed-config {}: {}", options.deepSpeedConfig, error.what());
  }
}

} // namespace

CompileOptions withDeepSpeedConfig(const CLI::App &command, const CompileOptions &given) {
  if (given.deepSpeedConfig.empty())
    return given;
  const SavedArguments typed = argumentsOf(command);
  driver::DeepSpeedConfig config(given.deepSpeedConfig, typed);
  reporter().sayTogether(config.text(), {});
  CompileOptions options = given;
  options.microBatch = config.microBatch();
  parseAlso(config.arguments(), options);
  // What a file of --save-ir keeps needs no other file.
  options.arguments = typed;
  std::erase_if(options.arguments,
                [](const auto &argument) { return argument.first == "--deepspeed-config"; });
  options.arguments.insert(options.arguments.end(), config.arguments().begin(), config.arguments().end());
  return options;
}

} // namespace kedge::tool
