// Options of a command, each declared in one place: flag, where its value goes, what it may be, and its help.
#pragma once
#include "kedge/Support/Words.h"
#include "lib/Support/Error.h"
#include "lib/Support/ExactDouble.h"
#include "runtime/program/NumberFlags.h"
#include "runtime/program/WordFlags.h"
#include <CLI/CLI.hpp>
#include <optional>

namespace kedge::tool {

/// What a number may be; with the word that may be given in its place.
struct Range {
  double low, high;
  rt::RangeEnds ends = rt::RangeEnds::Both;
  const char *also = nullptr;
};

/// What is wrong with an expression of an option; empty: nothing.
std::string wrongPattern(const std::string &text);

/// Options of one group of `--help`.
class Flags {
public:
  Flags(CLI::App &command, const char *group) : command(command), group(group) {}

  /// Text, or a switch when `value` is a bool.
  template <typename Value> CLI::Option *add(const char *flag, Value &value, const std::string &help) {
    if constexpr (std::is_same_v<Value, bool>)
      return command.add_flag(flag, value, help)->group(group);
    else
      return command.add_option(flag, value, help)->group(group);
  }
  /// One of `words`, which a table has.
  CLI::Option *word(const char *flag, std::string &value, const std::vector<std::string> &words,
                    const std::string &help) {
    return rt::checkWord(add(flag, value, help), words);
  }
  /// One of the words of an enumeration.
  template <typename Enum> CLI::Option *word(const char *flag, Enum &value, const std::string &help) {
    return rt::checkWord(
        command
            .add_option_function<std::string>(
                flag, [&value](const std::string &text) { value = valueOf<Enum>(text); }, help)
            ->default_function([&value] { return std::string(wordOf(value)); })
            ->group(group),
        wordsOf<Enum>());
  }
  /// The same, where none of them is the default.
  template <typename Enum>
  CLI::Option *word(const char *flag, std::optional<Enum> &value, const std::string &help) {
    return rt::checkWord(
        command
            .add_option_function<std::string>(
                flag, [&value](const std::string &text) { value = valueOf<Enum>(text); }, help)
            ->group(group),
        wordsOf<Enum>());
  }
  /// The words on and off.
  CLI::Option *onOff(const char *flag, bool &value, const std::string &help);
  /// A value each time that the flag is given, or all of them joined by `delimiter`.
  template <typename List>
  CLI::Option *list(const char *flag, List &values, const std::string &help, char delimiter = '\0') {
    CLI::Option *option = command.add_option(flag, values, help)->group(group)->allow_extra_args(false);
    return delimiter ? option->delimiter(delimiter) : option;
  }
  /// A number in `range`; whole where `value` is.
  template <typename Number>
  CLI::Option *number(const char *flag, Number &value, Range range, const std::string &help) {
    return within(addNumber(flag, value, help), range);
  }
  /// Whole numbers in `range`, joined by commas.
  CLI::Option *numbers(const char *flag, std::vector<int64_t> &values, Range range, const std::string &help) {
    return within(list(flag, values, help, ','), range);
  }
  /// What `parse` makes of the text; what it throws becomes an error that names the flag.
  template <typename Value, typename Parse>
  CLI::Option *parsed(const char *flag, Value &value, const Parse &parse, const std::string &help) {
    return command
        .add_option_function<std::string>(
            flag,
            [flag, parse, &value](const std::string &text) {
              value = naming(flag, [&] { return parse(text); });
            },
            help)
        ->group(group);
  }
  /// The same of each text.
  template <typename List, typename Parse>
  CLI::Option *parsedList(const char *flag, List &values, const Parse &parse, const std::string &help,
                          char delimiter = '\0') {
    const auto read = [flag, parse, &values](const std::vector<std::string> &texts) {
      values.clear();
      for (const std::string &text : texts)
        values.push_back(naming(flag, [&] { return parse(text); }));
    };
    CLI::Option *option = command.add_option_function<std::vector<std::string>>(flag, read, help);
    option->group(group)->allow_extra_args(false);
    return delimiter ? option->delimiter(delimiter) : option;
  }
  /// An expression that is searched in names; in a list, one each time that the flag is given.
  CLI::Option *pattern(const char *flag, std::string &value, const std::string &help) {
    return add(flag, value, help)->check(wrongPattern);
  }
  CLI::Option *patterns(const char *flag, std::vector<std::string> &values, const std::string &help) {
    return list(flag, values, help)->check(wrongPattern);
  }
  /// BYTES, or with a unit as in 64MiB.
  CLI::Option *bytes(const char *flag, int64_t &value, const std::string &help);

private:
  template <typename Make> static auto naming(const char *flag, const Make &make) {
    try {
      return make();
    } catch (const std::runtime_error &error) {
      const std::string_view text = error.what();
      fail("{}{}", text.starts_with(flag) ? "" : std::string(flag) + " ", text);
    }
  }
  template <typename Number>
  CLI::Option *addNumber(const char *flag, Number &value, const std::string &help) {
    return add(flag, value, help);
  }
  CLI::Option *addNumber(const char *flag, ExactDouble &value, const std::string &help);
  static CLI::Option *within(CLI::Option *option, Range range);

  CLI::App &command;
  const char *group;
};

/// Throws kedge::Error unless `text` is a number of bytes; "0" is one.
int64_t bytesGiven(const std::string &flag, const std::string &text);

} // namespace kedge::tool
