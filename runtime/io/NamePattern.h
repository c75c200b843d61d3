// The REGEX of options: an ECMAScript expression that is searched in names.
#pragma once
#include <regex>
#include <string>

namespace kedge::rt {

/// Its time and memory are linear in the length of a name, whereas plain std::regex backtracks, with one
/// nested call for each character. Expressions that need backtracking (references to an earlier group) are
/// refused.
class NamePattern {
public:
  /// Throws std::regex_error.
  explicit NamePattern(const std::string &text) {
    constexpr size_t kLongest = 4000; // deeper nesting of brackets would need as many nested calls
    if (text.size() > kLongest)
      throw std::regex_error(std::regex_constants::error_space);
    std::regex(text, kFlags); // checked alone first: a closing bracket in `text` could close ours
    // One pass over the name with a prefix to skip, instead of one search from each of its characters.
    expression.assign("[^]*?(?:" + text + ")", kFlags);
  }

  bool isIn(const std::string &name) const {
    return std::regex_search(name, expression, std::regex_constants::match_continuous);
  }

private:
#ifdef __GLIBCXX__
  static constexpr auto kFlags = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
  static constexpr auto kFlags = std::regex::ECMAScript;
#endif
  std::regex expression;
};

} // namespace kedge::rt
