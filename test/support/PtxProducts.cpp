#include "test/support/PtxProducts.h"
#include "runtime/format/Float16.h"
#include <bit>

namespace kedge::test {
namespace {

constexpr int64_t kSteps = 16, kRows = 64;

} // namespace

const char *PtxSharedMatrix::wrong() const {
  constexpr uint64_t kKnown = 0xc0003fff3fff3fff;
  if (descriptor & ~kKnown)
    return "a descriptor that the interpreter does not know";
  return nullptr;
}

/// Chunks of eight numbers. Exchanged by bits of the address: eight chunks for mode 1, four for 2, two for 3.
uint64_t PtxSharedMatrix::at(int64_t step, int64_t column) const {
  const auto field = [&](int bit) { return (descriptor >> bit & 0x3fff) << 4; };
  const uint64_t leading = field(16), stride = field(32), mode = descriptor >> 62;
  const uint64_t chunks = mode == 0 ? 1 : uint64_t(16) >> mode;
  const auto k = static_cast<uint64_t>(step), n = static_cast<uint64_t>(column);
  uint64_t place = 0;
  if (isTransposed) {
    const uint64_t chunk = n / 8;
    place = n % 8 * 2 + k % 8 * chunks * 16;
    place += mode == 0 ? chunk * stride + k / 8 * leading
                       : chunk % chunks * 16 + chunk / chunks * leading + k / 8 * stride;
  } else {
    place = n % 8 * chunks * 16 + n / 8 * stride + k / 8 * (mode == 0 ? leading : 16) + k % 8 * 2;
  }
  const uint64_t address = field(0) + place;
  return address ^ ((address >> 7 & (chunks - 1)) << 4);
}

void PtxProduct::run() {
  const auto widened = [&](uint32_t word, int64_t half) -> float {
    const auto bits = static_cast<uint16_t>(word >> (16 * half));
    return isBrain ? float(std::bit_cast<rt::BFloat16>(bits)) : float(std::bit_cast<rt::Float16>(bits));
  };
  std::vector<float> a(kRows * kSteps), b(kSteps * columns);
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t word = 0; word < 4; ++word)
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t row = thread / 32 * 16 + thread % 32 / 4 + word % 2 * 8;
        a[row * kSteps + thread % 4 * 2 + word / 2 * 8 + half] = widened(left[thread][word], half);
      }
  for (int64_t step = 0; step < kSteps; ++step)
    for (int64_t column = 0; column < columns; ++column)
      b[step * columns + column] = widened(right(step, column), 0);
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t at = 0; at < columns / 2; ++at) {
      const int64_t row = thread / 32 * 16 + thread % 32 / 4 + at % 4 / 2 * 8;
      const int64_t column = at / 4 * 8 + thread % 4 * 2 + at % 2;
      double sum = adds ? sums[thread][at] : 0;
      for (int64_t step = 0; step < kSteps; ++step)
        sum += static_cast<double>(a[row * kSteps + step]) * b[step * columns + column];
      sums[thread][at] = static_cast<float>(sum);
    }
}

} // namespace kedge::test
