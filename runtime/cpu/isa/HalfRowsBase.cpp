#include "runtime/cpu/isa/HalfRows.inc"
#include "runtime/format/Float16.h"

namespace kedge::rt::cpu {
namespace {

#if defined(__aarch64__)
/// The processor's own conversions.
inline float widenHalf(uint16_t bits) { return __builtin_bit_cast(__fp16, bits); }
inline uint16_t roundToHalf(float value) { return __builtin_bit_cast(uint16_t, static_cast<__fp16>(value)); }
#else
inline float widenHalf(uint16_t bits) {
  Float16 half;
  half.bits = bits;
  return half;
}
inline uint16_t roundToHalf(float value) { return Float16(value).bits; }
#endif

} // namespace

HalfRowsOfBoth halfRowsBase() { return {kBf16Rows, {widenRows<widenHalf>, roundRows<roundToHalf>}}; }

} // namespace kedge::rt::cpu
