#include "tools/kedge/SavedCommand.h"
#include "driver/SavedIr.h"
#include "lib/Support/Error.h"
#include "runtime/program/NumberFlags.h"

namespace kedge::tool {

using driver::Emit, driver::Phase, driver::SavedArguments, driver::SavedIr;

namespace {

/// The last phase that an option still acts in; nullopt: it acted before the first file was written.
std::optional<Phase> lastPhaseOf(const CLI::Option &option) {
  const std::string name = option.get_name();
  const std::string &group = option.get_group();
  for (const char *scalar : rt::scalarFlags()) // the program's defaults
    if (name == scalar)
      return Phase::Exec;
  if (group == "Output" || group == "Extensions")
    return Phase::Exec;
  if (group == "Memory")
    return Phase::Schedule;
  if (group == "Optimizer" && name != "--weight-decay-exclude" && name != "--lr-scale")
    return Phase::Model;
  return std::nullopt;
}

void checkActsLater(const CLI::Option &option, Phase done, const std::string &path) {
  std::optional<Phase> last = lastPhaseOf(option);
  if (!last)
    fail("{}: {} takes effect before the phase that this file holds; give it when you compile the ONNX file",
         path, option.get_name());
  if (*last < done)
    fail("{}: {} takes effect before phase '{}', which this file holds; start from a file of an earlier "
         "phase, or give it "
         "when you compile the ONNX file",
         path, option.get_name(), nameOf(done));
}

/// --emit of a level that is over already is an error.
void checkStillAhead(Emit emit, Phase done, const std::string &path) {
  Phase last = emit == Emit::Onnx       ? Phase::Model
               : emit == Emit::Train    ? Phase::Step
               : emit == Emit::Schedule ? Phase::Rematerialize
                                        : Phase::Exec;
  if (last < done)
    fail("{}: --emit {} is the IR of a phase before '{}', which this file holds", path, wordOf(emit),
         nameOf(done));
}

/// "--name=value", as the parser takes it again.
std::vector<std::string> commandLine(const SavedIr &saved) {
  std::vector<std::string> words = {saved.model};
  for (const auto &[name, values] : saved.arguments)
    for (const std::string &value : values)
      words.push_back(value.empty() ? name : name + "=" + value);
  return words;
}

} // namespace

SavedArguments argumentsOf(const CLI::App &command) {
  SavedArguments arguments;
  for (const CLI::Option *option : command.get_options()) {
    const std::string name = option->get_name();
    bool ofFiles = name == "-o" || name == "--emit" || name == "--save-ir" || name == "--report" ||
                   name == "--print-pipeline" || name == "--with-places" || name == "--only" ||
                   name == "--kernel-cache";
    if (option->count() == 0 || name == "MODEL" || name == "--help" || ofFiles)
      continue;
    std::vector<std::string> values = option->results();
    if (option->get_items_expected_max() == 0)
      values = {""};
    else if (char delimiter = option->get_delimiter())
      values = {CLI::detail::join(values, std::string(1, delimiter))};
    arguments.push_back({name, values});
  }
  return arguments;
}

CompileOptions resumedOptions(const CLI::App &command, const CompileOptions &given) {
  const std::string path = given.model.model;
  SavedIr saved = SavedIr::of(path, given.model.plugins);
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 && option->get_name() != "MODEL")
      checkActsLater(*option, saved.phase, path);
  checkStillAhead(given.output.emit, saved.phase, path);
  for (auto &now : argumentsOf(command)) {
    std::erase_if(saved.arguments, [&](const auto &before) { return before.first == now.first; });
    saved.arguments.push_back(now);
  }
  CLI::App again;
  CompileOptions options;
  addCompileOptions(again, options);
  addProgramOptions(again, options);
  std::vector<std::string> words = commandLine(saved);
  std::reverse(words.begin(), words.end()); // as CLI11 takes them
  try {
    again.parse(words);
  } catch (const CLI::ParseError &error) {
    fail("{}: the options it was saved with cannot be read: {}", path, error.what());
  }
  options.arguments = saved.arguments;
  options.resumedFrom = path;
  options.output.path = given.output.path, options.output.emit = given.output.emit,
  options.output.saveIr = given.output.saveIr, options.output.report = given.output.report,
  options.output.printPipeline = given.output.printPipeline;
  options.output.withPlaces = given.output.withPlaces, options.output.only = given.output.only;
  return options;
}

} // namespace kedge::tool
