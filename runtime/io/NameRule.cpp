#include "runtime/io/NameRule.h"

namespace kedge::rt {

static NameRule ruleOf(const std::string &text, const std::string &names) {
  return {text, NamePattern::of("'" + text + "'", names)};
}

NameRule NameRule::parse(const std::string &text) { return ruleOf(text, text); }

std::pair<NameRule, std::string> NameRule::split(const std::string &text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos)
    return {ruleOf(text, text), ""};
  return {ruleOf(text, text.substr(0, equals)), text.substr(equals + 1)};
}

} // namespace kedge::rt
