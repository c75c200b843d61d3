#include "passes/Pipeline/StageRule.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/StringRef.h"

namespace kedge::pipeline {

StageRule StageRule::parse(const std::string &text) {
  const auto [rule, number] = rt::NameRule::split(text);
  StageRule result{rule, -1};
  if (llvm::StringRef(number).getAsInteger(10, result.stage) || result.stage < 0)
    fail("'{}': expected REGEX=K with a stage K from 0", text);
  return result;
}

} // namespace kedge::pipeline
