#include "runtime/cpu/conv/StencilRows.h"
#include "runtime/cpu/isa/Isa.h"

namespace kedge::rt::cpu {

template <> const StencilRows<float> &stencilRows<float>() {
  return madeForIsa<stencilRowsAvx512F32, stencilRowsAvx2F32, stencilRowsBaseF32>();
}

template <> const StencilRows<double> &stencilRows<double>() {
  return madeForIsa<stencilRowsAvx512F64, stencilRowsAvx2F64, stencilRowsBaseF64>();
}

} // namespace kedge::rt::cpu
