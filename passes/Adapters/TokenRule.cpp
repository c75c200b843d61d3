#include "passes/Adapters/TokenRule.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace kedge::adapters {
namespace {

constexpr int64_t kMostRows = 1 << 20;

/// N or N-M; false if it is neither.
bool addRows(llvm::StringRef text, std::vector<int64_t> &rows) {
  const auto [begin, end] = text.split('-');
  int64_t first = 0, last = 0;
  if (begin.getAsInteger(10, first) || first < 0)
    return false;
  last = first;
  if (text.contains('-') && end.getAsInteger(10, last))
    return false;
  if (last < first || last - first >= kMostRows)
    return false;
  for (int64_t row = first; row <= last; ++row)
    rows.push_back(row);
  return true;
}

} // namespace

TokenRule TokenRule::parse(const std::string &text) {
  std::string joined = text;
  const size_t equals = joined.find_last_of('=');
  if (equals != std::string::npos) // commas part the values of a pass' option
    std::replace(joined.begin() + static_cast<std::ptrdiff_t>(equals), joined.end(), ',', '+');
  const auto [rule, words] = rt::NameRule::split(joined);
  TokenRule result{rule, {}};
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(words).split(parts, '+');
  for (llvm::StringRef part : parts)
    if (!addRows(part, result.rows))
      fail("'{}': expected REGEX=ROW,FIRST-LAST,... with rows from 0", text);
  return result;
}

} // namespace kedge::adapters
