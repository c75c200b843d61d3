#include "test/support/GpuMatrices.h"
#include "lib/Support/Error.h"
#include "runtime/format/Float16.h"
#include <bit>
#include <cstring>

namespace kedge::test {
namespace {

using Lanes = std::array<int32_t *, 32>;

uint16_t half(int32_t word, int number) {
  return static_cast<uint16_t>(static_cast<uint32_t>(word) >> (16 * number));
}

float widened(MatrixWork work, uint16_t bits) {
  if (work == MatrixWork::MultiplyHalf)
    return std::bit_cast<rt::Float16>(bits);
  return std::bit_cast<rt::BFloat16>(bits);
}

/// Lane l has rows l / 4 and l / 4 + 8 of A, C and D, and column l / 4 of B; two neighbours of l % 4 in a
/// register.
void multiply(MatrixWork work, const Lanes &words) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    int group = lane / 4, first = lane % 4 * 2;
    for (int i = 0; i < 8; ++i)
      a[group + (i / 2 % 2) * 8][first + i % 2 + (i / 4) * 8] =
          widened(work, half(words[lane][i / 2], i % 2));
    for (int i = 0; i < 4; ++i)
      b[first + i % 2 + (i / 2) * 8][group] = widened(work, half(words[lane][4 + i / 2], i % 2));
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + (i / 2) * 8, column = lane % 4 * 2 + i % 2;
      float c;
      std::memcpy(&c, words[lane] + 6 + i, sizeof c);
      double sum = c;
      for (int k = 0; k < 16; ++k)
        sum += static_cast<double>(a[row][k]) * b[k][column];
      c = static_cast<float>(sum);
      std::memcpy(words[lane] + 6 + i, &c, sizeof c);
    }
}

/// Lanes 8 m to 8 m + 7 have the addresses of the rows of matrix m.
void load(int count, bool transposed, const Lanes &words) {
  uint16_t rows[4][8][8];
  for (int lane = 0; lane < 8 * count; ++lane) {
    const char *from;
    std::memcpy(&from, words[lane], sizeof from);
    if (reinterpret_cast<uintptr_t>(from) % 16 != 0)
      fail("ldmatrix: lane {} has the address of a row that is not aligned to 16 bytes", lane);
    std::memcpy(rows[lane / 8][lane % 8], from, 16);
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int m = 0; m < count; ++m) {
      int row = lane / 4, first = lane % 4 * 2;
      auto at = [&](int i) -> uint32_t {
        return transposed ? rows[m][first + i][row] : rows[m][row][first + i];
      };
      words[lane][m] = static_cast<int32_t>(at(0) | at(1) << 16);
    }
}

} // namespace

void runMatrices(MatrixWork work, const Lanes &words) {
  switch (work) {
  case MatrixWork::MultiplyHalf:
  case MatrixWork::MultiplyBrain:
    return multiply(work, words);
  case MatrixWork::Load1:
    return load(1, false, words);
  case MatrixWork::Load2:
    return load(2, false, words);
  case MatrixWork::Load4:
    return load(4, false, words);
  case MatrixWork::LoadTransposed1:
    return load(1, true, words);
  case MatrixWork::LoadTransposed2:
    return load(2, true, words);
  case MatrixWork::LoadTransposed4:
    return load(4, true, words);
  }
}

} // namespace kedge::test
