// What the lanes of a warp do together with matrices of 16-bit numbers: ldmatrix and mma.sync, by the layouts
// of the PTX ISA document ("Matrix Fragments for mma.m16n8k16 with floating point type", "ldmatrix").
#pragma once
#include <array>
#include <cstdint>

namespace kedge::test {

enum class MatrixWork : int32_t {
  MultiplyHalf,  ///< m16n8k16, row by column: words 0-3 are A, 4-5 B, 6-9 C, which D replaces
  MultiplyBrain, ///< the same of bf16
  Load1,
  Load2,
  Load4, ///< words 0-1 are the address of a row; 0-3 then the lane's part of each 8 x 8 matrix
  LoadTransposed1,
  LoadTransposed2,
  LoadTransposed4,
};

/// `words`: the registers of each lane. Throws kedge::Error for an address that is not aligned to 16 bytes. D
/// is the exact sum rounded to f32; a device may round in between.
void runMatrices(MatrixWork work, const std::array<int32_t *, 32> &words);

} // namespace kedge::test
