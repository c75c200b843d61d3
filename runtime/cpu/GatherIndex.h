// Reading index tensors: negative ones count from the end, wrong ones are reported with their place.
#pragma once
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Types.h"

namespace kedge::rt::cpu {

/// Index tensors are small or as long as the data: one branch an element instead of a template over types.
struct IndexReader {
  const void *base;
  bool wide; ///< i64, else i32

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t *>(base)[i] : static_cast<const int32_t *>(base)[i];
  }
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
