// Reads index tensors. Negative indices count from the end; invalid ones are reported with their position.
#pragma once
#include "runtime/calls/Types.h"
#include <atomic>
#include <limits>

namespace kedge::rt::calls {

/// Reads one index. Index tensors are small or as long as the data, so a branch for each element is cheap
/// enough.
struct IndexReader {
  const void *base;
  bool wide; ///< true: i64, false: i32

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t *>(base)[i] : static_cast<const int32_t *>(base)[i];
  }
};

/// Remembers the first invalid position, in the order of positions, independent of threads.
class FirstBad {
public:
  void note(int64_t position) {
    int64_t seen = position_.load(std::memory_order_relaxed);
    while (position < seen && !position_.compare_exchange_weak(seen, position, std::memory_order_relaxed))
      ;
  }
  bool any() const { return position_.load() != kNone; }
  int64_t position() const { return position_.load(); }

private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> position_{kNone};
};

/// The index in [0, size); -1 if `value` is invalid, which is noted in `bad`.
inline int64_t resolveIndex(int64_t value, int64_t size, int64_t position, FirstBad &bad) {
  if (value < 0)
    value += size;
  if (value >= 0 && value < size) [[likely]]
    return value;
  bad.note(position);
  return -1;
}

[[noreturn]] inline void failIndex(const std::string &what, const IndexReader &indices, const FirstBad &bad,
                                   int64_t size) {
  fail("{}: index {} at position {} is outside [-{}, {})", what, indices[bad.position()], bad.position(),
       size, size);
}

} // namespace kedge::rt::calls
