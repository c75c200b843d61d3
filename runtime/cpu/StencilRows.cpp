#include "runtime/cpu/StencilRows.h"
#include "runtime/cpu/Isa.h"

namespace kedge::rt::cpu {

template <> const StencilRows<float> &stencilRows<float>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<stencilRowsAvx512F32>() : isa == Isa::Avx2 ? madeBy<stencilRowsAvx2F32>() : madeBy<stencilRowsBaseF32>();
}

template <> const StencilRows<double> &stencilRows<double>() {
  const Isa isa = activeIsa();
  return isa >= Isa::Avx512 ? madeBy<stencilRowsAvx512F64>() : isa == Isa::Avx2 ? madeBy<stencilRowsAvx2F64>() : madeBy<stencilRowsBaseF64>();
}

} // namespace kedge::rt::cpu
