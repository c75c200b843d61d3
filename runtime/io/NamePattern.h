// REGEX of options: an ECMAScript expression that is searched in names.
#pragma once
#include <regex>
#include <string>

namespace kedge::rt {

/// Runs in time and memory that grow with the name's length alone, where std::regex by itself goes back and forth, a call
/// deeper for each character. What needs that (a reference to an earlier group) is refused.
class NamePattern {
public:
  /// Throws std::regex_error.
  explicit NamePattern(const std::string &text) {
    constexpr size_t kLongest = 4000; // deeper brackets would be as many calls
    if (text.size() > kLongest)
      throw std::regex_error(std::regex_constants::error_space);
    constexpr auto flags = std::regex::ECMAScript | std::regex_constants::__polynomial;
    std::regex(text, flags); // by itself: brackets that close ours are an error
    // One walk over the name that skips its front, not one walk from each of its characters.
    expression.assign("[^]*?(?:" + text + ")", flags);
  }

  bool isIn(const std::string &name) const {
    return std::regex_search(name, expression, std::regex_constants::match_continuous);
  }

private:
  std::regex expression;
};

} // namespace kedge::rt
