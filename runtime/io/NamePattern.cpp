#include "runtime/io/NamePattern.h"
#include "runtime/io/Error.h"
#include <regex>

namespace kedge::rt {
namespace {

#ifdef __GLIBCXX__
constexpr auto kFlags = std::regex::ECMAScript | std::regex_constants::__polynomial;
void refuseReferences(const std::string &) {} // that is its flag's work
#else
// libc++ backtracks without nested calls, and throws regex_error after 4096 steps for each character.
constexpr auto kFlags = std::regex::ECMAScript;
void refuseReferences(const std::string &text) {
  bool inBrackets = false;
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] != '\\')
      inBrackets = text[at] == '[' || (inBrackets && text[at] != ']');
    else if (++at < text.size() && !inBrackets && text[at] >= '1' && text[at] <= '9')
      throw std::regex_error(std::regex_constants::error_backref);
}
#endif

std::regex compiled(const std::string &text) {
  constexpr size_t kLongest = 4000; // deeper nesting of brackets would need as many nested calls
  if (text.size() > kLongest)
    throw std::regex_error(std::regex_constants::error_space);
  refuseReferences(text);
  [[maybe_unused]] const std::regex alone(text,
                                          kFlags); // first: a closing bracket in `text` could close ours
  // One pass over the name with a prefix to skip, instead of one search from each of its characters.
  return std::regex("[^]*?(?:" + text + ")", kFlags);
}

} // namespace

struct NamePattern::Expression {
  std::regex value;
};

NamePattern::NamePattern(const std::string &text) try
    : expression(std::make_shared<const Expression>(compiled(text))) {
} catch (const std::regex_error &error) {
  throw PatternError(error.what());
}

NamePattern NamePattern::of(const std::string &where, const std::string &text) {
  try {
    return NamePattern(text);
  } catch (const PatternError &error) {
    fail("{}: not a regular expression: {}", where, error.what());
  }
}

bool NamePattern::isIn(const std::string &name) const {
  return expression && std::regex_search(name, expression->value, std::regex_constants::match_continuous);
}

} // namespace kedge::rt
