// Reading index tensors: negative ones count from the end, wrong ones are reported with their place.
#pragma once
#include "runtime/calls/Types.h"
#include <atomic>
#include <limits>

namespace kedge::rt::cpu {

/// Index tensors are small or as long as the data: one branch an element instead of a template over types.
struct IndexReader {
  const void *base;
  bool wide; ///< i64, else i32

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t *>(base)[i] : static_cast<const int32_t *>(base)[i];
  }
};

/// The first place (in order of position, whatever the threads do) where something was wrong.
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

/// The place in [0, size); -1, noted in `bad`, when there is none.
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

} // namespace kedge::rt::cpu
