// Dropout inside attention. Only <cstdint> is included, as kernels for several instruction sets include this
// file.
#pragma once
#include <cstdint>

namespace kedge::rt::calls {

/// Parameters of the dropout in one row of the step; the random numbers are those of runtime/format/Philox.h.
struct DropoutRow {
  uint32_t key[2];   ///< of Philox
  uint32_t row;      ///< of the step
  uint32_t step[2];  ///< low, high word
  uint32_t smallest; ///< an element is kept if the upper 24 bits of its random word are at least this
};

} // namespace kedge::rt::calls
