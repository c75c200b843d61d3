#include "driver/reduce/CommandRuns.h"

namespace kedge::driver {
namespace {

std::string withModel(std::string command, const std::string &model) {
  const std::string word = shellWord(model);
  for (size_t at = 0; (at = command.find("{}", at)) != std::string::npos; at += word.size())
    command.replace(at, 2, word);
  return command;
}

} // namespace

ToolEnding runCommand(const std::string &command, const std::string &model, const TemporaryFolder &folder) {
  return runTool({"/bin/sh", "-c", withModel(command, model)}, folder);
}

} // namespace kedge::driver
