#include "runtime/cpu/isa/HalfRows.inc"
#include "runtime/format/Float16.h"

namespace kedge::rt::cpu {
namespace {

inline float widenHalf(uint16_t bits) {
  Float16 half;
  half.bits = bits;
  return half;
}
inline uint16_t roundToHalf(float value) { return Float16(value).bits; }

} // namespace

HalfRowsOfBoth halfRowsBase() { return {kBf16Rows, {widenRows<widenHalf>, roundRows<roundToHalf>}}; }

} // namespace kedge::rt::cpu
