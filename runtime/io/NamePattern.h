// The REGEX of options: an ECMAScript expression that is searched in names.
#pragma once
#include "runtime/io/Error.h"
#include <regex>
#include <string>

namespace kedge::rt {

/// Its time and memory are linear in the length of a name (libc++: refused where they are not), whereas plain
/// std::regex backtracks, with one nested call for each character. Expressions that need backtracking
/// (references to an earlier group) are refused.
class NamePattern {
public:
  /// In no name.
  NamePattern() = default;
  /// Throws std::regex_error.
  explicit NamePattern(const std::string &text) {
    constexpr size_t kLongest = 4000; // deeper nesting of brackets would need as many nested calls
    if (text.size() > kLongest)
      throw std::regex_error(std::regex_constants::error_space);
    refuseReferences(text);
    [[maybe_unused]] const std::regex alone(text,
                                            kFlags); // first: a closing bracket in `text` could close ours
    // One pass over the name with a prefix to skip, instead of one search from each of its characters.
    expression.assign("[^]*?(?:" + text + ")", kFlags);
  }

  /// Throws an error that begins with `where`: the option that the expression is from.
  static NamePattern of(const std::string &where, const std::string &text) {
    try {
      return NamePattern(text);
    } catch (const std::regex_error &error) {
      fail("{}: not a regular expression: {}", where, error.what());
    }
  }

  bool isIn(const std::string &name) const {
    return std::regex_search(name, expression, std::regex_constants::match_continuous);
  }

private:
#ifdef __GLIBCXX__
  static constexpr auto kFlags = std::regex::ECMAScript | std::regex_constants::__polynomial;
  static void refuseReferences(const std::string &) {} // that is its flag's work
#else
  // libc++ backtracks without nested calls, and throws regex_error after 4096 steps for each character.
  static constexpr auto kFlags = std::regex::ECMAScript;
  static void refuseReferences(const std::string &text) {
    bool inBrackets = false;
    for (size_t at = 0; at < text.size(); ++at)
      if (text[at] != '\\')
        inBrackets = text[at] == '[' || (inBrackets && text[at] != ']');
      else if (++at < text.size() && !inBrackets && text[at] >= '1' && text[at] <= '9')
        throw std::regex_error(std::regex_constants::error_backref);
  }
#endif
  std::regex expression;
};

} // namespace kedge::rt
