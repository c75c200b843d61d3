#include "passes/Adapters/FakeQuantizeRule.h"
#include "lib/Support/Error.h"

namespace kedge::adapters {

FakeQuantizeRule FakeQuantizeRule::parse(const std::string &text) {
  using enum tune::Format;
  const auto [rule, word] = rt::NameRule::split(text);
  const std::optional<tune::Format> format = tune::symbolizeFormat(word);
  if (format != Int8 && format != UInt8 && format != Int4)
    fail("'{}': expected REGEX=int8, REGEX=uint8 or REGEX=int4", text);
  return {rule, *format};
}

IntegerGrid gridOf(tune::Format format) {
  if (format == tune::Format::UInt8)
    return {0, 255};
  return format == tune::Format::Int4 ? IntegerGrid{-7, 7} : IntegerGrid{-127, 127};
}

} // namespace kedge::adapters
