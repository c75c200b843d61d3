#include "runtime/cpu/AttentionRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const AttentionRows<float> &attentionRows<float>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<attentionRowsAvx512F32>() : isa == Isa::Avx2 ? madeBy<attentionRowsAvx2F32>() : madeBy<attentionRowsBaseF32>();
}

template <> const AttentionRows<double> &attentionRows<double>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<attentionRowsAvx512F64>() : isa == Isa::Avx2 ? madeBy<attentionRowsAvx2F64>() : madeBy<attentionRowsBaseF64>();
}

} // namespace kedge::rt::cpu
