#include "runtime/program/ParseErrors.h"
#include "runtime/format/NearMisses.h"
#include "runtime/io/Error.h"
#include "runtime/program/Options.h"
#include "runtime/program/OtherFlags.h"
#include <fmt/format.h>

namespace kedge::rt {
namespace {

std::string orElse(const std::string &word, const std::vector<std::string> &names,
                   const std::string &otherwise) {
  const std::string meant = closestName(word, names);
  return meant.empty() ? otherwise : fmt::format("; did you mean '{}'?", meant);
}

std::vector<std::string> optionNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// The words that no option took: the first that looks like one, else the first.
std::string firstUnknown(const std::vector<std::string> &words) {
  for (const std::string &word : words)
    if (word.size() > 1 && word[0] == '-')
      return word;
  return words.empty() ? "" : words.front();
}

/// A value, or one of several that the option's delimiter joins, is empty.
bool hasEmptyPart(const std::string &value, char delimiter) {
  if (value.empty())
    return true;
  const std::string twice(2, delimiter);
  return delimiter != 0 &&
         (value.front() == delimiter || value.back() == delimiter || value.find(twice) != std::string::npos);
}

[[noreturn]] void failEmpty(const std::string &flag, const std::string &value) {
  if (flag.empty())
    fail("an argument is empty; is a variable unset?");
  fail("{} '{}': {} is empty; is a variable unset? Give a value, or leave {} out", flag, value,
       value.empty() ? "its value" : "one of its values", flag);
}

bool has(const CLI::App &app, const std::string &flag) { return app.get_option_no_throw(flag) != nullptr; }

/// Of a flag that this command or program does not have: where it is, by its own name or by another tool's.
std::string whereIs(const CLI::App &used, const std::string &flag, bool isTool) {
  const OtherFlag *other = otherFlag(flag);
  const std::string own = other ? dashed(other->flag) : flag;
  if (other && has(used, own))
    return fmt::format(": here it is {}", other->how);
  const std::vector<std::string> program = isTool ? programFlags() : std::vector<std::string>();
  if (std::find(program.begin(), program.end(), own) != program.end())
    return fmt::format(": it is an option of the program that kedge compile makes, ./PROGRAM {}",
                       other ? other->how : own);
  if (!isTool && isCompilers(own))
    return fmt::format(": it is an option of kedge compile ({}), and a program has what it was compiled with",
                       other ? other->how : own);
  return "";
}

} // namespace

void refuseEmptyValues(const CLI::App &app, const std::vector<std::string> &words) {
  const CLI::App *used = &app;
  const CLI::Option *option = nullptr;
  std::string flag; // the last one; empty after those that take no value
  for (const std::string &word : words) {
    if (flag.empty() && !word.empty())
      for (const CLI::App *command : used->get_subcommands([](const CLI::App *) { return true; }))
        if (command->get_name() == word)
          used = command;
    const size_t equals = word.find('=');
    if (word.size() > 1 && word[0] == '-') {
      flag = word.substr(0, equals);
      option = used->get_option_no_throw(flag);
      if (equals != std::string::npos && option &&
          hasEmptyPart(word.substr(equals + 1), option->get_delimiter()))
        failEmpty(flag, word.substr(equals + 1));
      if (equals != std::string::npos || (option && option->get_items_expected_max() == 0))
        flag.clear();
      continue;
    }
    if (hasEmptyPart(word, !flag.empty() && option ? option->get_delimiter() : '\0'))
      failEmpty(flag, word);
    if (option && !option->get_allow_extra_args())
      flag.clear();
  }
}

std::string describeParseError(const CLI::App &app, const CLI::ParseError &error, int argc, char **argv) {
  const std::vector<CLI::App *> chosen = app.get_subcommands();
  const std::vector<const CLI::App *> commands = app.get_subcommands([](const CLI::App *) { return true; });
  std::vector<std::string> names;
  for (const CLI::App *command : commands)
    names.push_back(command->get_name());
  if (!commands.empty() && argc == 1)
    return fmt::format("expected a command: {}; {} COMMAND --help says what it takes", fmt::join(names, ", "),
                       app.get_name());
  if (!commands.empty() && chosen.empty() && argc > 1 && argv[1][0] != '-') {
    if (argv[1] == std::string_view("train") || argv[1] == std::string_view("run"))
      return fmt::format(
          "'{}' is no command of {}: the program that kedge compile makes trains; kedge compile "
          "MODEL -o PROGRAM, then ./PROGRAM",
          argv[1], app.get_name());
    return fmt::format("'{}' is no command of {}{}", argv[1], app.get_name(),
                       orElse(argv[1], names, fmt::format("; there are {}", fmt::join(names, ", "))));
  }
  const CLI::App &used = chosen.empty() ? app : *chosen.front();
  const std::string word = firstUnknown(app.remaining(/*recurse=*/true));
  const bool answered = std::string_view(error.what()).find("did you mean") != std::string_view::npos;
  const char *help = answered ? "" : "; --help lists the options";
  if (dynamic_cast<const CLI::ExtrasError *>(&error) == nullptr || word.empty())
    return error.what() + std::string(help);
  if (word[0] != '-')
    return fmt::format("'{}' is one argument too many{}", word, help);
  const std::string flag = word.substr(0, word.find('='));
  if (const std::string where = whereIs(used, flag, !commands.empty()); !where.empty())
    return fmt::format("there is no option {}{}", flag, where);
  return fmt::format("there is no option {}{}", flag, orElse(flag, optionNames(used), help));
}

} // namespace kedge::rt
