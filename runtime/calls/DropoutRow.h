// Dropout inside attention. Only <cstdint> here: kernels that are compiled for each instruction set include it.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Dropout of the probabilities of one row of the step: the random numbers of runtime/format/Philox.h.
struct DropoutRow {
  uint32_t key[2];   ///< of Philox
  uint32_t row;      ///< of the step
  uint32_t step[2];  ///< low, high word
  uint32_t smallest; ///< an element is kept when the upper 24 bits of its word are at least this
};

} // namespace kedge::rt::cpu
