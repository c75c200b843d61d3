#include "passes/Memory/ByteOwners.h"

namespace kedge::memory {

llvm::SmallVector<size_t> ByteOwners::take(int64_t begin, int64_t end, size_t owner) {
  llvm::SmallVector<size_t> before;
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second.end > begin)
    --at;
  while (at != ranges.end() && at->first < end) {
    const auto [from, old] = *at;
    before.push_back(old.owner);
    at = ranges.erase(at);
    if (from < begin)
      ranges[from] = {begin, old.owner};
    if (old.end > end)
      ranges[end] = old;
  }
  ranges[begin] = {end, owner};
  return before;
}

} // namespace kedge::memory
