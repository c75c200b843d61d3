#include "passes/Adapters/NumberRule.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

namespace kedge::adapters {

NumberRule NumberRule::parse(const std::string &text) {
  const auto [rule, word] = rt::NameRule::split(text);
  double number = 0;
  if (llvm::StringRef(word).getAsDouble(number) || !(number > 0) || !std::isfinite(number))
    fail("'{}': expected REGEX=NUMBER with a number above 0", text);
  return {rule, number};
}

} // namespace kedge::adapters
