#include "passes/Rematerialize/Policy.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/StringRef.h"

namespace kedge::remat {
namespace {

struct Spelling {
  const char *text; ///< "=" at its end: a number follows
  Policy::Kind kind;
};
constexpr Spelling kSpellings[] = {
    {"none", Policy::Kind::None}, {"full", Policy::Kind::Full}, {"segments=", Policy::Kind::Segments},
    {"nth=", Policy::Kind::Nth},  {"sqrt", Policy::Kind::Sqrt}, {"attention", Policy::Kind::Attention},
    {"auto", Policy::Kind::Auto}};

} // namespace

Policy Policy::parse(const std::string &text) {
  for (const auto &[spelling, kind] : kSpellings) {
    llvm::StringRef rest = text;
    Policy policy{kind, 0};
    if (!rest.consume_front(spelling))
      continue;
    if (!llvm::StringRef(spelling).ends_with('=')) {
      if (rest.empty())
        return policy;
      continue;
    }
    if (rest.getAsInteger(10, policy.count) || policy.count < 1)
      fail("'{}': expected a whole number of at least 1 after {}", text, spelling);
    return policy;
  }
  fail("'{}': expected none, full, segments=N, nth=N, sqrt, attention or auto", text);
}

std::string Policy::text() const {
  for (const auto &[spelling, known] : kSpellings)
    if (known == kind)
      return spelling + (count > 0 ? std::to_string(count) : "");
  return "";
}

} // namespace kedge::remat
