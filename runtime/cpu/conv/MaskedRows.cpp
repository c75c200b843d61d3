#include "runtime/cpu/conv/MaskedRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> MaskedRows<float> maskedRows() {
  if (activeIsa() >= Isa::Avx512)
    return maskedRowsAvx512();
  return activeIsa() == Isa::Avx2 ? maskedRowsAvx2() : nullptr;
}
template <> MaskedRows<uint16_t> maskedRows() {
  return activeIsa() >= Isa::Avx512 ? narrowMaskedRowsAvx512() : nullptr;
}

int maskedLanes() { return activeIsa() >= Isa::Avx512 ? kMaskedLanes : kMaskedLanesAvx2; }

} // namespace kedge::rt::cpu
