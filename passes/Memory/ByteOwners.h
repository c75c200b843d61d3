// Who has which bytes of an arena, as buffers take them one after the other.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <map>

namespace kedge::memory {

class ByteOwners {
public:
  /// Gives the bytes [begin, end) to `owner`. Returns those that had bytes of them, from the first byte on.
  llvm::SmallVector<size_t> take(int64_t begin, int64_t end, size_t owner);

private:
  struct Range {
    int64_t end;
    size_t owner;
  };
  std::map<int64_t, Range> ranges; ///< by begin; no two share bytes
};

} // namespace kedge::memory
