#include "runtime/cpu/isa/NarrowRows.inc"
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

NarrowRowsOfBoth narrowRowsBase() { return {kBf16Rows, {widenRows<widenHalf>, roundRows<roundToHalf>}}; }

} // namespace kedge::rt::cpu
