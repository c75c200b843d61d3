#include "runtime/cpu/conv/MaskedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> MaskedRows<float> maskedRows() {
  return activeIsa() >= Isa::Avx512 ? maskedRowsAvx512() : nullptr;
}
template <> MaskedRows<uint16_t> maskedRows() {
  return activeIsa() >= Isa::Avx512 ? narrowMaskedRowsAvx512() : nullptr;
}

} // namespace kedge::rt::cpu
