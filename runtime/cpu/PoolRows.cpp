#include "runtime/cpu/PoolRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const PoolRows<float> &poolRows<float>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<poolRowsAvx512F32>() : isa == Isa::Avx2 ? madeBy<poolRowsAvx2F32>() : madeBy<poolRowsBaseF32>();
}

template <> const PoolRows<double> &poolRows<double>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<poolRowsAvx512F64>() : isa == Isa::Avx2 ? madeBy<poolRowsAvx2F64>() : madeBy<poolRowsBaseF64>();
}

} // namespace kedge::rt::cpu
