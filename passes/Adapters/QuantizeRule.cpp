#include "passes/Adapters/QuantizeRule.h"
#include "lib/Support/Error.h"

namespace kedge::adapters {

QuantizeRule QuantizeRule::parse(const std::string &text) {
  const auto [rule, word] = rt::NameRule::split(text);
  const std::optional<tune::Format> format = tune::symbolizeFormat(word);
  if (!format)
    fail("'{}': expected REGEX=nf4, REGEX=fp4 or REGEX=int8", text);
  return {rule, *format};
}

} // namespace kedge::adapters
